"""Windows as large as a size says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

import onnxpert
from tests.capture.open_sizes.models import Calls, assert_same

WINDOWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "side by side": lambda x: functional.avg_pool2d(x, (x.shape[2], x.shape[3] // 2)),
    "in steps of one": lambda x: functional.max_pool1d(x.flatten(1, 2), x.shape[3] // 2, 1),
    "in steps of a size": lambda x: torch.avg_pool1d(x.flatten(1, 2), 2, stride=x.shape[3] // 2),
    "all of it": lambda x: functional.max_pool2d(x, x.shape[2:]) + functional.max_pool2d(x, 1),
    "beyond the borders": lambda x: functional.avg_pool1d(
        x.flatten(1, 2), x.shape[3] // 2, 1, x.shape[3] // 4
    ),
    "the largest beyond the borders": lambda x: functional.max_pool2d(
        -x.exp(), (2, x.shape[3] // 2), stride=(1, 2), padding=(1, 0)
    ),
    "rounded up": lambda x: functional.avg_pool1d(
        x.flatten(1, 2), x.shape[3] // 2, 3, ceil_mode=True
    ),
    "rounded up beyond the borders": lambda x: functional.avg_pool2d(
        x, (1, x.shape[3] // 2), (1, 2), (0, x.shape[3] // 4), ceil_mode=True
    ),
    "the largest, rounded up": lambda x: functional.max_pool2d(
        -x.exp(), (2, (x.shape[3] + 2) // 3), padding=(1, 0), ceil_mode=True
    ),
    "borders that do not count": lambda x: functional.avg_pool2d(
        x, (1, x.shape[3] // 2), 1, (0, x.shape[3] // 4), True, count_include_pad=False
    ),
    "columns": lambda x: functional.unfold(
        x, (1, x.shape[3] // 2), padding=(1, 0), stride=(2, x.shape[3] // 2)
    ),
    "columns that lap over": lambda x: functional.unfold(x[0], (1, x.shape[3] // 2)),
    "unfolded": lambda x: x.unfold(3, x.shape[3] // 2, 1),
    "unfolded, named": lambda x: x.unfold(dimension=-1, size=2, step=x.shape[3] // 2),
    "unfolded side by side": lambda x: x.unfold(-1, x.shape[3] // 2, x.shape[3] // 2),
}


@pytest.mark.parametrize("make", WINDOWS.values(), ids=WINDOWS)
def test_windows_follow_a_size(make: Callable[..., Any], tmp_path: Path) -> None:
    sizes = ((2, 2, 4, 2), (1, 2, 1, 7), (3, 2, 5, 12), (1, 2, 3, 3))
    dims = {"x": {0: "a", 2: "b", 3: "c"}}
    assert_same(Calls(make), (2, 2, 3, 8), sizes, dims, tmp_path / "windows.onnx")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: functional.max_pool1d(x, x.shape[2] // 2, return_indices=True),
        lambda x: functional.max_pool1d(x, x.shape[2] // 2, dilation=2),
    ],
    ids=["indices", "with holes"],
)
def test_what_has_no_other_form_is_told(make: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(onnxpert.ExportError, match="SHP20"):
        assert_same(
            Calls(make), (2, 2, 8), ((2, 2, 6),), {"x": {2: "c"}}, tmp_path / "windows.onnx"
        )
