"""Windows at drawn places, the places given."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

aten = torch.ops.aten


@pytest.mark.parametrize("output", [[4, 5], [1, 1], [7, 2]])
def test_fractional_max_pool2d(output: list[int]) -> None:
    assert_same(
        lambda x, s: aten.fractional_max_pool2d(x, [2, 3], output, s),
        torch.randn(2, 3, 9, 8),
        torch.rand(2, 3, 2),
        dynamic=({0: "n"}, {0: "n"}),
        others=[(torch.randn(3, 3, 9, 8), torch.rand(3, 3, 2))],
    )


def test_fractional_max_pool3d() -> None:
    x, samples = torch.randn(1, 2, 6, 7, 8), torch.rand(1, 2, 3)
    assert_same(lambda x, s: aten.fractional_max_pool3d(x, [2, 2, 3], [3, 4, 2], s), x, samples)
    assert_same(lambda x, s: aten.fractional_max_pool3d(x, [2, 2, 3], [3, 4, 2], s), x[0], samples)
