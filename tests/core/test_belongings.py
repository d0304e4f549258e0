"""What a model holds beside its tensors is seen to change, named, and put back."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import torch
from torch import nn

from onnxpert.core.belongings import of_code, of_model


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


METER = Cache()
OTHER = Model()
LOOP: list[Any] = []
LOOP.append(LOOP)
COUNT = 0


def counter() -> Any:
    count = 0

    def bump(x: Any, seen: list[Any] = []) -> Any:  # noqa: B006  what people write
        nonlocal count
        count += 1
        bump.calls += 1  # type: ignore[attr-defined]
        seen.append(x)
        return count

    bump.calls = 0  # type: ignore[attr-defined]
    return bump


class Counting(nn.Module):
    bump = staticmethod(counter())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        global COUNT  # noqa: PLW0603
        COUNT += 1
        METER.sizes.append(1)
        OTHER.cache.keys = 1
        self.bump(x)
        return x


def test_the_variables_of_the_code_a_model_is_written_in_are_seen_and_put_back() -> None:
    model = Counting()
    tables = of_code(model)
    model(torch.zeros(1))
    names = {change.name for table in tables for change in table.changes()}
    # What another model holds is that model's own; what holds itself is met once.
    assert names == {"COUNT", "METER.sizes", "count", "seen", "bump.calls"}
    for table in tables:
        table.restore()
    assert COUNT == 0
    assert METER.sizes == []
    assert Counting.bump(1) == 1
    assert Counting.bump.calls == 1  # type: ignore[attr-defined]
    assert not any(table.renew() or table.changes() for table in tables)
    OTHER.cache.keys = None


def test_a_table_that_is_renewed_tells_what_came_after() -> None:
    model = Model()
    (table,) = (table for table in of_model(model) if table.name == "cache.sizes")
    model.cache.sizes.append(1)
    assert table.is_changed()
    table.renew()
    assert not table.is_changed()
    model.cache.sizes.append(2)
    table.restore()
    assert model.cache.sizes == [1]
