"""The first or the last so many elements: as many as there are, where there are fewer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.capture.open_sizes.models import Calls, assert_same, ranges

CUTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "first": lambda x: x[:, :12].reshape(x.shape[0], -1),
    "length": lambda x: (x[:, :12].softmax(1), x[:, :12].shape[1]),
    "last": lambda x: x[:, -3:].flatten(1),
    "both": lambda x: x[:, :12][:, -3:] + x[:, -3:],
    "in place": lambda x: x.clone()[:, :12].mul_(2),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_cut_end_is_right_on_both_sides(cut: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "cut.onnx"
    sizes = ((1, 12, 2), (2, 13, 2), (1, 40, 2), (1, 1, 2), (2, 3, 2), (2, 2, 2))
    wanted = [size for size in sizes if cut is not CUTS["both"] or size[1] <= 12]
    assert_same(Calls(cut), (2, 8, 2), wanted, {"x": {0: "batch", 1: "time"}}, path)
    if cut is not CUTS["both"]:
        assert ranges(path)["time"] == "1.."
