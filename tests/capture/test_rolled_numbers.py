"""Numbers beside a loop over a size: several functions of a length may give all that was seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.capture.open_sizes.models import assert_same


class Reversed(nn.Module):
    """Beside the range that Python goes through, a part of the size."""

    def __init__(self, divisor: int, offset: int) -> None:
        super().__init__()
        self.divisor, self.offset = divisor, offset

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        n = x.shape[1]
        part = (n + self.offset) // self.divisor
        return x * part, x[:, range(n - 1, -1, -1)]


@pytest.mark.parametrize(("divisor", "offset"), [(2, 0), (3, 0), (4, 0), (8, 0), (2, -3), (3, 2)])
def test_a_part_of_a_size_that_is_rolled(divisor: int, offset: int, tmp_path: Path) -> None:
    sizes = ((1, 9), (3, 3), (2, 25), (1, 1))
    shapes = {"x": {0: "b", 1: "n"}}
    assert_same(Reversed(divisor, offset), (2, 6), sizes, shapes, tmp_path / "m.onnx")
