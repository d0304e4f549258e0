"""What a model holds beside its tensors is seen to change, named, and put back."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import torch
from torch import nn

from onnxpert.core.belongings import of_model, of_variables


class Cache:
    def __init__(self) -> None:
        self.keys: Any = None
        self.sizes: list[int] = []


class Model(nn.Module):
    calls = 0
    history: ClassVar[list[int]] = []

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.nested: dict[str, Any] = {"a": [deque([1])]}
        self.inner = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Model.calls += 1
        self.history.append(1)
        self.cache.keys = x
        self.cache.sizes.append(2)
        self.nested["a"][0].append(3)
        return self.inner(x)


def test_everything_that_changed_has_a_name_and_an_owner() -> None:
    model = Model()
    tables = of_model(model)
    model(torch.zeros(1, 2))
    found = {change.name: change for table in tables for change in table.changes()}
    assert set(found) == {"Model.calls", "Model.history", "cache.keys", "cache.sizes", "nested"}
    assert found["cache.keys"].owner is Cache
    assert found["cache.keys"].attribute == "keys"
    assert found["nested"].owner is Model
    for table in tables:
        table.restore()
    assert (Model.calls, Model.history) == (0, [])
    assert (model.cache.keys, model.cache.sizes) == (None, [])
    assert model.nested == {"a": [deque([1])]}
    assert not any(table.changes() for table in tables)


def test_a_variable_that_holds_an_object_is_looked_into_and_one_that_holds_a_model_is_not() -> None:
    meter, model = Cache(), Model()
    tables = of_variables([("meter", meter), ("model", model)])
    meter.sizes.append(1)
    model.cache.keys = 1
    assert [change.name for table in tables for change in table.changes()] == ["meter.sizes"]


def test_what_holds_itself_is_met_once() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert len(of_variables([("loop", loop)])) == 1
