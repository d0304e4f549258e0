"""Sorting, the largest ones, duplicates and places in an order."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(3, 6)
OTHERS = [(torch.randn(4, 9),), (torch.randn(1, 3),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sort(),
        lambda x: x.sort(0),
        lambda x: x.sort(1, descending=True),
        lambda x: torch.sort(x, stable=True),
        lambda x: torch.sort(x.round(), stable=True, descending=True),
        lambda x: x.argsort(),
        lambda x: x.argsort(0, descending=True),
        lambda x: torch.argsort(x.round(), stable=True),
        torch.msort,
        lambda x: x.topk(2),
        lambda x: x.topk(1, 0),
        lambda x: x.topk(3, largest=False),
        lambda x: x.topk(x.shape[1] - 1),
        lambda x: x.topk(2, sorted=True)[1] + 1,
    ],
)
def test_orders(call):
    assert_same(call, X, dynamic="auto", others=OTHERS)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.uint8, torch.int64])
def test_dtypes(dtype):
    x = torch.tensor([1, 0, 1, 0]).to(dtype)
    assert_same(lambda x: torch.sort(x, stable=True), x)
    assert_same(lambda x: torch.unique(x, return_counts=True), x)
    assert_same(torch.unique_consecutive, x)


def test_scalars():
    assert_same(lambda x: (x.sort(), x.argsort(), x.topk(1)), torch.tensor(2.0))


_REPEATED = torch.tensor([[3, 1, 1], [2, 3, 3], [3, 1, 1]])
_REPEATED_OTHERS = [(torch.tensor([[5, 5]]),), (torch.tensor([[0, 1], [0, 1], [2, 2], [0, 1]]),)]


@pytest.mark.parametrize(
    "call",
    [
        torch.unique,
        lambda x: torch.unique(x, return_inverse=True),
        lambda x: torch.unique(x, return_counts=True),
        lambda x: torch.unique(x.float(), return_inverse=True, return_counts=True),
        lambda x: torch.unique(x, dim=0),
        lambda x: torch.unique(x, dim=1, return_inverse=True, return_counts=True),
        torch.unique_consecutive,
        lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
        lambda x: torch.unique_consecutive(x, dim=0, return_counts=True),
        lambda x: torch.unique_consecutive(x, dim=1, return_inverse=True, return_counts=True),
        lambda x: torch.unique_consecutive(x, dim=-1, return_inverse=True, return_counts=True),
        lambda x: torch.unique(x, dim=-1),
        lambda x: torch.unique(x) * 2,
    ],
)
def test_duplicates(call):
    assert_same(call, _REPEATED, dynamic="auto", others=_REPEATED_OTHERS)


def test_runs_of_nothing():
    def call(x):
        return torch.unique_consecutive(x[x > 2], return_inverse=True, return_counts=True)

    assert_same(call, torch.tensor([3, 3, 1]), others=[(torch.tensor([1, 1, 1]),)])


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("out_int32", [False, True])
def test_places(right, out_int32):
    def call(edges, x):
        options = {"right": right, "out_int32": out_int32}
        return torch.searchsorted(edges, x, **options), torch.bucketize(x, edges, **options)

    edges = torch.tensor([1.0, 2.0, 2.0, 5.0])
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 5.0, 7.0]])
    others = [(edges[:3], torch.tensor([[float("nan"), float("inf"), 2.0]]))]
    assert_same(call, edges, x, dynamic=({0: "n"}, {0: "a"}), others=others)


def test_places_in_rows():
    edges = torch.randn(3, 7)
    x = torch.randn(3, 4)

    def call(edges, x):
        order = edges.argsort()
        return (
            torch.searchsorted(edges.sort().values, x),
            torch.searchsorted(edges, x, sorter=order, side="right"),
        )

    others = [(torch.randn(1, 3), torch.randn(1, 2))]
    dynamic = ({0: "a", 1: "n"}, {0: "a", 1: "m"})
    assert_same(call, edges, x, dynamic=dynamic, others=others)


def test_places_of_nothing():
    def call(edges, x):
        return torch.searchsorted(edges, x), torch.bucketize(x[x > 2], edges)

    assert_same(call, torch.zeros(0), torch.zeros(3))
    assert_same(call, torch.randn(3), torch.zeros(2, 0))


def test_place_of_a_number():
    assert_same(
        lambda e: (torch.searchsorted(e, 2), torch.bucketize(2, e)), torch.tensor([1, 2, 3])
    )


def test_integers_among_fractions():
    assert_same(torch.bucketize, torch.tensor([1, 2]), torch.tensor([0.5, 1.5]))
