"""The first or the last so many elements: as many as there are, where there are fewer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert
from tests.capture.open_sizes.models import Calls, assert_same, ranges

CUTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "first": lambda x: x[:, :12].reshape(x.shape[0], -1),
    "length": lambda x: (x[:, :12].softmax(1), x[:, :12].shape[1]),
    "last": lambda x: x[:, -3:].flatten(1),
    "both": lambda x: x[:, :12][:, -3:] + x[:, -3:],
    "in place": lambda x: x.clone()[:, :12].mul_(2),
    "all but two": lambda x: torch.zeros_like(x[:, 2:]),
    "inside": lambda x: (torch.ones(x[:, 1:-1].shape), x[:, 4:9], x[:, -4:-2], x[:, -4:3]),
    "as many": lambda x: torch.cat([x[:, 2:].cos(), x[:, 1:-1].cos(), x[:, :-2].cos()], 2),
    "every other": lambda x: torch.zeros_like(x[:, 3::2]),
}


def _inside(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 1:-1] = 0
    y[:, 2:] += 1
    y[:, :2] *= 3
    return y


CUTS["written"] = _inside


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_cut_end_is_right_on_both_sides(cut: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "cut.onnx"
    sizes = ((1, 12, 2), (2, 13, 2), (1, 40, 2), (1, 1, 2), (2, 3, 2), (2, 2, 2))
    wanted = [size for size in sizes if cut is not CUTS["both"] or size[1] <= 12]
    assert_same(Calls(cut), (2, 8, 2), wanted, {"x": {0: "batch", 1: "time"}}, path)
    if cut not in (CUTS["both"], CUTS["written"]):
        assert ranges(path)["time"] == "1.."


class _UpTo(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        z = x.clone()
        z[:, : y.shape[0]] = 0
        return x[:, : y.shape[0]], z


def test_an_end_of_two_may_be_one(tmp_path: Path) -> None:
    path = tmp_path / "end.onnx"
    shapes = {"x": {0: "batch"}, "y": {0: "end"}}
    onnxpert.export(_UpTo(), (torch.randn(3, 2), torch.randn(2)), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for end in (1, 2, 5):
        x, y = torch.randn(4, 2), torch.randn(end)
        feeds = {"x": x.numpy(), "y": y.numpy()}
        for want, got in zip(_UpTo()(x, y), session.run(None, feeds), strict=True):
            np.testing.assert_array_equal(want.numpy(), got)
