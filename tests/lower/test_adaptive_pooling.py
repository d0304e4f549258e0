"""Pooling to a given size."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

MEANS = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
POOLS = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ROWS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3, 10), (1,)),
    ((2, 3, 10), (5,)),
    ((2, 3, 10), (4,)),
    ((2, 3, 3), (7,)),
    ((2, 3, 8, 6), (1, 1)),
    ((2, 3, 8, 6), (4, 3)),
    ((2, 3, 7, 7), (3, 3)),
    ((2, 3, 8, 7), (3, 5)),
    ((2, 3, 8, 7), (8, 3)),
    ((2, 3, 6, 7, 5), (1, 1, 1)),
    ((2, 3, 6, 7, 5), (2, 3, 4)),
]


@pytest.mark.parametrize(("sizes", "wanted"), ROWS)
def test_mean(sizes: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    pool: Any = MEANS[len(wanted)]
    assert_same(lambda x: pool(x, wanted), torch.randn(sizes))
    assert_same(lambda x: pool(x, wanted), torch.randn(sizes)[0])
    assert_same(lambda x: pool(x, wanted), torch.randn(sizes).double())


@pytest.mark.parametrize(("sizes", "wanted"), ROWS)
def test_largest(sizes: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    pool: Any = POOLS[len(wanted)]
    x = torch.randint(0, 20, sizes).float()  # with ties
    assert_same(lambda x: pool(x, wanted, return_indices=True), x)
    assert_same(lambda x: pool(x, wanted), x[0])


@pytest.mark.parametrize("wanted", [(1, 1), (4, 3), (8, 6)])
def test_at_other_sizes(wanted: tuple[int, int]) -> None:
    dims = ({0: "batch", 2: "height", 3: "width"},)
    x, others = torch.randn(2, 3, 8, 6), [[torch.randn(1, 3, 5, 13)], [torch.randn(1, 3, 2, 3)]]
    assert_same(lambda x: F.adaptive_avg_pool2d(x, wanted), x, dynamic=dims, others=others)
    assert_same(
        lambda x: F.adaptive_max_pool2d(x, wanted, return_indices=True),
        x,
        dynamic=dims,
        others=others,
    )


def test_an_axis_that_keeps_its_size() -> None:
    assert_same(
        lambda x: F.adaptive_avg_pool2d(x, (None, 2)),
        torch.randn(2, 3, 8, 6),
        dynamic=({2: "height", 3: "width"},),
        others=[[torch.randn(2, 3, 5, 13)]],
    )


def test_infinite_elements_stay_in_their_window() -> None:
    x = torch.randn(1, 1, 10)
    x[0, 0, 3] = float("inf")
    assert_same(lambda x: F.adaptive_avg_pool1d(x, 4), x)


@pytest.mark.parametrize(
    ("sizes", "wanted", "kinds"),
    [
        ((2, 3, 8, 6), (1, 1), ["GlobalAveragePool"]),
        ((2, 3, 8, 6), (4, 2), ["AveragePool"]),
        ((2, 3, 7, 7), (3, 3), ["AveragePool"]),
    ],
)
def test_the_plain_cases_are_one_node(
    sizes: tuple[int, ...], wanted: tuple[int, ...], kinds: list[str]
) -> None:
    result = assert_same(lambda x: F.adaptive_avg_pool2d(x, wanted), torch.randn(sizes))
    assert [node.op_type for node in result.model.graph] == kinds


@pytest.mark.parametrize("pool", [F.adaptive_avg_pool1d, F.adaptive_max_pool1d])
def test_one_element_for_several_windows(pool: Any) -> None:
    assert_same(lambda x: pool(x, 3), torch.randn(2, 2, 1))
