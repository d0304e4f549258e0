"""A model is put back as it was."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from onnxpert.core.memory import Memory


class Model(nn.Module):
    """Something of everything that a module may keep."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.BatchNorm1d(2)
        self.cache: dict[str, Any] = {"a": 1}
        self.history = [1, 2]
        self.mode = "first"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.cache["b"] = x
        self.history.pop()
        self.mode = "second"
        self.fresh = x
        return self.inner(x)


def test_a_quiet_model_has_not_changed() -> None:
    model = Model().inner.eval()
    state = Memory(model)
    model(torch.randn(3, 2))
    assert state.changed() == ()


def test_everything_is_restored_however_often() -> None:
    model = Model().train()
    before = {name: tensor.clone() for name, tensor in model.named_buffers()}
    state = Memory(model)
    for _ in range(2):
        model(torch.randn(3, 2))
        changed = set(state.changed())
        assert {"inner.running_mean", "inner.num_batches_tracked", "cache", "history"} <= changed
        state.restore()
        assert state.changed() == ()
        assert (model.cache, model.history, model.mode) == ({"a": 1}, [1, 2], "first")
        assert not hasattr(model, "fresh")
        for name, tensor in model.named_buffers():
            assert torch.equal(tensor, before[name])


def test_a_parameter_that_is_written_to_is_seen() -> None:
    model = nn.Linear(2, 2)
    state = Memory(model)
    with torch.no_grad():
        model.weight.add_(1)
    assert state.changed() == ("weight",)


def test_a_bound_method_belongs_to_its_module() -> None:
    model = Model().train()
    state = Memory(model.forward)
    model(torch.randn(3, 2))
    assert "inner.running_mean" in state.changed()


def test_tensors_made_for_inference_have_no_counter() -> None:
    with torch.inference_mode():
        model = nn.BatchNorm1d(2)
    assert Memory(model).changed() == ()


def test_a_function_has_no_state() -> None:
    assert Memory(torch.sin).changed() == ()
