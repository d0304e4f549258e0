"""Lookups."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

X = torch.randn(4, 5, 3)
INDEX = torch.tensor([2, 0, 1, 1])
DYNAMIC = ({0: "a", 1: "b", 2: "c"}, {0: "n"})
OTHERS = [
    (torch.randn(3, 4, 6), torch.tensor([2])),
    (torch.randn(7, 3, 3), torch.tensor([0, 1, 2])),
]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_select(-1, i),
        lambda x, i: x.index_select(1, i.int()),
        lambda x, i: x.index_select(1, i[0]),
        lambda x, i: x.take(i),
        lambda x, i: F.embedding(i, x[:, :, 0]),
        lambda x, i: torch.gather(x[:, 0, 0], 0, i),
        torch.take_along_dim,
        lambda x, i: torch.gather(x, 1, x.argsort(1)),
        lambda x, i: torch.gather(x, -1, x.argsort(-1)[:, :2]),
    ],
)
def test_lookups(call):
    assert_same(call, X, INDEX, dynamic=DYNAMIC, others=OTHERS)


def test_take_along_a_dimension():
    def call(x, i):
        return torch.take_along_dim(x, x.argsort(1), 1), torch.take_along_dim(
            x, i[None, :, None], 1
        )

    others = [(torch.randn(3, 4, 6), torch.tensor([2, 1])), (torch.randn(1, 3, 1), INDEX)]
    assert_same(call, X, INDEX, dynamic=DYNAMIC, others=others)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_of_a_smaller_index(dim):
    index = torch.tensor([[[0, 1], [2, 0]]])
    assert_same(lambda x, i: torch.gather(x, dim, i), X, index)


def test_gather_of_scalars_and_of_nothing():
    assert_same(lambda x, i: torch.gather(x, 0, i), torch.tensor(2.0), torch.tensor(0))
    assert_same(lambda x, i: torch.gather(x, 0, i), torch.randn(3), torch.tensor(1))
    assert_same(lambda x, i: torch.gather(x, 1, i), torch.randn(3, 4), torch.zeros(3, 0).long())
    assert_same(lambda x, i: x.index_select(0, i), torch.randn(3), torch.tensor(1))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.float64])
def test_dtypes(dtype):
    x = torch.ones(3, 4).to(dtype)
    assert_same(lambda x, i: (x.index_select(1, i), x.take(i)), x, torch.tensor([0, 2]))
    assert_same(lambda x, i: torch.gather(x, 1, i), x, torch.tensor([[0, 2]]))


def test_embedding():
    module = torch.nn.Embedding(10, 4, padding_idx=3)
    x, other = torch.tensor([[1, 3], [9, 0]]), torch.tensor([[3, 3, 2]])
    assert_same(module, x, dynamic="auto", others=[(other,)], nodes=["Gather"])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 3, -1])
def test_bags(mode, padding_idx):
    weight = torch.randn(5, 3)

    def call(i, o):
        return F.embedding_bag(i, weight, o, mode=mode, padding_idx=padding_idx)

    i, o = torch.tensor([0, 1, 2, 3, 3, 4, 4]), torch.tensor([0, 2, 2, 6])
    others = [(torch.tensor([3, 1, 2]), torch.tensor([0, 3]))]
    assert_same(call, i, o, dynamic=({0: "n"}, {0: "bags"}), others=others)


def test_bags_with_weights_and_an_end():
    weight = torch.randn(5, 3)

    def call(i, o, w):
        return F.embedding_bag(
            i, weight, o, mode="sum", per_sample_weights=w, include_last_offset=True
        )

    i, o = torch.tensor([0, 1, 2, 3, 3, 4, 4]), torch.tensor([0, 2, 2, 6])
    assert_same(call, i, o, torch.randn(7))


def test_bags_in_rows():
    module = torch.nn.EmbeddingBag(5, 3)
    x, other = torch.tensor([[0, 1, 2], [3, 3, 4]]), torch.tensor([[0, 1]])
    assert_same(module, x, dynamic="auto", others=[(other,)])


def test_one_hot():
    x = torch.tensor([[0, 2], [1, 3]])
    others = [(torch.tensor([[1, 1, 0]]),)]
    assert_same(lambda x: F.one_hot(x, 4), x, dynamic="auto", others=others)
    assert_same(lambda x: F.one_hot(x, 4), torch.tensor(2))
    assert_same(F.one_hot, x, dynamic="auto", others=others)
    assert_same(lambda x: F.one_hot(x) * 2, torch.tensor(2))
