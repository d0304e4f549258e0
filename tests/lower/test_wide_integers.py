"""Whole numbers beyond 32 bits: exact where such are in sight, and as always where none are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import onnxpert

_OPERATIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "minimum": lambda x: torch.minimum(x, x.flip(1)),
    "maximum": lambda x: torch.maximum(x, x.flip(0)),
    "clamp": lambda x: x.clamp(-5, 2**31 + 1),
    "clamp from below": lambda x: x.clamp(min=2**31),
    "sign": lambda x: x.sign(),
    "amax": lambda x: x.amax(1),
    "amin, kept": lambda x: x.amin(0, keepdim=True),
    "max of all": lambda x: x.max(),
    "sum": lambda x: x.sum(1),
    "sum of all": lambda x: x.sum(),
    "fmod": lambda x: torch.fmod(x, 1_000_003),
}
# On both sides of 2**31 in the lower half of each, and beyond the 53 bits of a double.
_NUMBERS = [2**31, 2**31 - 1, 5, 2**32 - 1, -(2**31) - 1, -1, 2**40 + 2**31, 2**40, 2**58 + 3]


class Operation(torch.nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.compute = _OPERATIONS[name]

    def forward(self, x: torch.Tensor) -> Any:
        return self.compute(x)


@pytest.mark.parametrize("name", _OPERATIONS)
def test_large_numbers_are_computed_exactly(name: str, tmp_path: Path) -> None:
    dice = torch.Generator().manual_seed(0)
    table = torch.tensor(_NUMBERS)
    path = tmp_path / "m.onnx"
    model = Operation(name)
    example = table[torch.randint(len(table), (4, 6), generator=dice)]
    onnxpert.export(model, (example,), path, dynamic_shapes=({0: "n"},))
    session = onnxruntime.InferenceSession(path)
    for rows in (1, 2, 4, 9, 16):
        x = table[torch.randint(len(table), (rows, 6), generator=dice)]
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_array_equal(got, model(x).numpy())


def test_a_number_in_the_code_is_in_sight_too(tmp_path: Path) -> None:
    class Hashed(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.minimum(ids * 2_654_435_761, ids.flip(0) * 2_654_435_761)

    path = tmp_path / "m.onnx"
    onnxpert.export(Hashed(), (torch.arange(6),), path)
    assert "Min" not in {node.op_type for node in onnx.load(path).graph.node}


def test_small_numbers_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(Operation("clamp"), (torch.arange(6).reshape(2, 3),), path)
    wide = {node.op_type for node in onnx.load(path).graph.node}
    onnxpert.export(Operation("amax"), (torch.arange(6).reshape(2, 3),), path)
    plain = [node.op_type for node in onnx.load(path).graph.node]
    assert "Clip" not in wide  # one of its ends is large
    assert plain == ["ReduceMax"]
