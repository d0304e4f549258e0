"""Random tensors drawn with a generator that is named: as large as the sizes of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

import onnxpert

DRAWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "rand": lambda x: torch.rand(x.shape, generator=None, dtype=x.dtype),
    "randn": lambda x: torch.randn((x.shape[0], 3), generator=None),
    "randint": lambda x: torch.randint(7, x.shape, generator=None),
    "randint from": lambda x: torch.randint(2, 7, (x.shape[1],), generator=None),
    "randperm": lambda x: torch.randperm(x.shape[1], generator=None),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_sizes_stay_open(draw: Callable[[torch.Tensor], Any], tmp_path: Path) -> None:
    class Draws(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return draw(x)

    path, x = tmp_path / "m.onnx", torch.zeros(4, 6)
    shapes = {"x": {0: "rows", 1: "columns"}}
    onnxpert.export(Draws().eval(), (torch.zeros(2, 5),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"x": x.numpy()})
    assert got.shape == tuple(draw(x).shape)
