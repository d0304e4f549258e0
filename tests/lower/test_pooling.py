"""Pooling over windows."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.lower.same import assert_same

POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
SIZES = {1: (2, 3, 10), 2: (2, 3, 10, 7), 3: (2, 3, 6, 7, 5)}
WINDOWS: list[dict[str, Any]] = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "padding": 1, "ceil_mode": True},  # drops the last window
    {"kernel_size": 3, "stride": 3, "ceil_mode": True},
    {"kernel_size": 1, "stride": 3, "ceil_mode": True},
]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool(axes: int, window: dict[str, Any]) -> None:
    x = torch.randn(SIZES[axes])
    result = assert_same(lambda x: POOLS[axes](x, **window), x)
    assert [node.op_type for node in result.model.graph] == ["MaxPool"]
    assert_same(lambda x: POOLS[axes](x, **window), x[0])
    assert_same(lambda x: POOLS[axes](x, **window, return_indices=True), x)


def test_max_pool_with_dilation_and_ties() -> None:
    x = torch.randint(0, 3, (2, 3, 9, 8)).float()
    assert_same(lambda x: F.max_pool2d(x, 3, 2, 1, 2, return_indices=True), x)
    assert_same(lambda x: F.max_pool2d(x, 3, 2, 1, 2, return_indices=True), x[0])


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.float64]
)
def test_max_pool_of_other_dtypes(dtype: torch.dtype) -> None:
    x = torch.randint(0, 99, (1, 3, 9, 8)).to(dtype)
    assert_same(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), x)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("count_include_pad", [True, False])
def test_avg_pool(axes: int, window: dict[str, Any], count_include_pad: bool) -> None:
    x = torch.randn(SIZES[axes])
    assert_same(lambda x: MEANS[axes](x, **window, count_include_pad=count_include_pad), x)
    assert_same(lambda x: MEANS[axes](x, **window, count_include_pad=count_include_pad), x[0])


@pytest.mark.parametrize("window", WINDOWS)
def test_avg_pool_in_float64_and_with_a_divisor(window: dict[str, Any]) -> None:
    x = torch.randn(2, 3, 10, 7)
    assert_same(lambda x: F.avg_pool2d(x, **window, divisor_override=5), x)
    for include in (True, False):
        assert_same(lambda x: F.avg_pool2d(x, **window, count_include_pad=include), x.double())  # noqa: B023


@pytest.mark.parametrize("window", WINDOWS)
def test_avg_pool_of_integers(window: dict[str, Any]) -> None:
    x = torch.randint(-99, 99, (2, 3, 10, 7))
    assert_same(lambda x: F.avg_pool2d(x, **window), x)
    assert_same(lambda x: F.avg_pool2d(x, **window, divisor_override=5), x)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("size", [3, 8, 11, 12])
def test_pools_at_other_sizes(window: dict[str, Any], size: int) -> None:
    dims = ({0: "batch", 2: "height", 3: "width"},)
    x, other = torch.randn(2, 3, 10, 7), torch.randn(1, 3, size, size + 1)
    assert_same(lambda x: F.max_pool2d(x, **window), x, dynamic=dims, others=[[other]])
    assert_same(lambda x: F.avg_pool2d(x, **window), x, dynamic=dims, others=[[other]])
    assert_same(
        lambda x: F.max_pool2d(x, **window, return_indices=True), x, dynamic=dims, others=[[other]]
    )
    assert_same(
        lambda x: F.avg_pool2d(x, **window, divisor_override=3), x, dynamic=dims, others=[[other]]
    )


@pytest.mark.parametrize("norm", [1, 2, 3.0])
def test_lp_pool(norm: float) -> None:
    assert_same(lambda x: F.lp_pool2d(x, norm, 3, stride=2), torch.rand(2, 3, 9, 8))
    assert_same(lambda x: F.lp_pool1d(x, norm, 3), torch.rand(2, 3, 9))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_max_unpool(axes: int) -> None:
    pool = [nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d][axes - 1](2, stride=2, return_indices=True)
    back = [nn.MaxUnpool1d, nn.MaxUnpool2d, nn.MaxUnpool3d][axes - 1](2, stride=2)

    class There(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return back(*pool(x))

    assert_same(There(), torch.randn(2, 3, *(8, 6, 4)[:axes]))
    assert_same(There(), torch.randn(3, *(8, 6, 4)[:axes]))


def test_a_last_window_that_fits_or_not() -> None:
    """The flattened size comes out right wherever the rounding goes."""
    for pool in (F.max_pool2d, F.avg_pool2d):
        assert_same(
            lambda x: pool(x, 2, 3, 1, ceil_mode=True).flatten(1) * 2,  # noqa: B023
            torch.randn(1, 3, 10, 7),
            dynamic=({2: "height", 3: "width"},),
            others=[[torch.randn(1, 3, height, 8)] for height in (5, 6, 8, 9, 11)],
        )


def test_a_line_of_any_length() -> None:
    assert_same(
        lambda x: F.max_pool1d(x, 4),
        torch.randn(2, 1, 12),
        dynamic=({0: "batch", 2: "length"},),
        others=[[torch.randn(3, 1, length)] for length in (4, 7, 13, 16)],
    )


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32])
@pytest.mark.parametrize("indices", [True, False])
def test_the_largest_of_whole_numbers_is_one_node(dtype: torch.dtype, indices: bool) -> None:
    x = torch.randperm(72).reshape(2, 1, 6, 6).to(dtype) - 80  # all below nothing
    result = assert_same(lambda a: F.max_pool2d(a, 3, 2, ceil_mode=True, return_indices=indices), x)
    assert [node.op_type for node in result.model.graph].count("MaxPool") == 1 + indices


@pytest.mark.parametrize(
    "pool",
    [
        lambda x: F.max_pool2d(x, 3, 2),
        lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        lambda x: F.max_pool2d(x.double(), 3, 2),
        lambda x: F.adaptive_max_pool2d(x, 5),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ],
)
def test_a_border_of_zeros_is_not_a_border_of_nothing(pool: Any) -> None:
    x = -1 - torch.rand(2, 3, 8, 8)
    assert_same(lambda x: pool(F.pad(x, (1, 1, 1, 1))), x)
