"""Elements picked by lists of numbers that only a run knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.capture.open_sizes.models import Calls, assert_same

PICKED: dict[str, Callable[[torch.Tensor], Any]] = {
    "frames": lambda x: x[:, torch.linspace(0, x.shape[1] - 1, 3).int().tolist()],
    "rows": lambda x: x[(torch.arange(3) * (x.shape[0] - 1) // 2).tolist()],
    "ends": lambda x: (x[[0, x.shape[0] - 1]], x[:, [x.shape[1] - 1]]),
    "from the end": lambda x: x[..., [-1, x.shape[1] // 2, -2]],
}


@pytest.mark.parametrize("pick", PICKED.values(), ids=PICKED)
def test_a_list_in_the_brackets(pick: Callable[..., Any], tmp_path: Path) -> None:
    sizes = ((2, 2), (1, 9), (5, 4))
    assert_same(Calls(pick), (2, 5), sizes, {"x": {0: "a", 1: "b"}}, tmp_path / "picked.onnx")
