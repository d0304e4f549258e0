"""Scatters."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same, lowered

X = torch.randn(3, 5)
INDEX = torch.tensor([[0, 1, 2, 0, 1], [2, 0, 0, 1, 2]])
S = torch.randn(2, 5)
OTHERS = [(torch.randn(4, 2), torch.tensor([[3, 0]]), torch.randn(1, 2))]
DYNAMIC = ({0: "a", 1: "b"}, {0: "n", 1: "b"}, {0: "n", 1: "b"})


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter:UserWarning")
@pytest.mark.parametrize(
    "call",
    [
        lambda x, i, s: x.scatter(0, i, s),
        lambda x, i, s: x.scatter(0, i, 2.5),
        lambda x, i, s: x.scatter(-2, i, s * 0, reduce="multiply"),
        lambda x, i, s: x.scatter(0, i, s, reduce="add"),
        lambda x, i, s: x.scatter(0, i, 2.5, reduce="add"),
        lambda x, i, s: x.scatter_add(0, i, s),
        lambda x, i, s: x.scatter_add(0, i[:, :1], s),
        lambda x, i, s: x.scatter_add(0, i[:1], torch.cat([s, s])),
    ],
)
def test_scatters(call):
    assert_same(call, X, INDEX, S, dynamic=DYNAMIC, others=OTHERS)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_reductions(reduce, include_self):
    def call(x, i, s):
        return x.scatter_reduce(0, i, s, reduce, include_self=include_self)

    assert_same(call, X, INDEX, S, dynamic=DYNAMIC, others=OTHERS)
    whole = (X * 10).long(), INDEX, (S * 10).long()
    assert_same(call, *whole, dynamic=DYNAMIC)


@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta:UserWarning")
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_reductions_along_a_dimension(reduce, include_self):
    def call(x, i, s):
        return x.index_reduce(1, i, s, reduce, include_self=include_self)

    assert_same(call, X, torch.tensor([4, 0, 0]), torch.randn(3, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i, s: x.index_add(0, i, s),
        lambda x, i, s: x.index_add(0, i, s, alpha=-2),
        lambda x, i, s: x.index_add(1, i, s.transpose(0, 1)),
        lambda x, i, s: x.index_copy(0, i[:2], s[:2]),
        lambda x, i, s: x.index_copy(1, i[:2], s[:2].mT),
        lambda x, i, s: x.index_fill(0, i, 3),
        lambda x, i, s: x.index_fill(1, i, x[0, 0]),
        lambda x, i, s: x[0].index_add(0, i, s[:, 0]),
        lambda x, i, s: x[0].index_fill(0, i, 1),
    ],
)
def test_along_a_dimension(call):
    others = [(torch.randn(5, 5), torch.tensor([4, 0, 1]), torch.randn(3, 5))]
    dynamic = ({0: "n", 1: "n"}, None, {1: "n"})
    x, i, s = torch.randn(4, 4), torch.tensor([1, 3, 1]), torch.randn(3, 4)
    assert_same(call, x, i, s, dynamic=dynamic, others=others)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int16, torch.uint8, torch.int32, torch.float16]
)
def test_dtypes(dtype):
    x, s = torch.tensor([1, 2, 3]).to(dtype), torch.tensor([4, 5, 6, 7]).to(dtype)
    i = torch.tensor([0, 0, 2, 2])
    assert_same(lambda x, i, s: x.scatter_add(0, i, s), x, i, s)
    assert_same(lambda x, i, s: x.index_add(0, i, s, alpha=2), x, i, s)
    assert_same(lambda x, i, s: x.scatter_reduce(0, i, s, "amax"), x, i, s)
    assert_same(lambda x, i, s: x.scatter(0, i[:1], s), x, i, s)


def test_truth_values():
    x, i = torch.tensor([False, True, False]), torch.tensor([0, 1])
    assert_same(lambda x, i: (x.scatter(0, i, True), x.index_fill(0, i, False)), x, i)


def test_scalars():
    x, i, s = torch.tensor(1.0), torch.tensor(0), torch.tensor(2.0)
    assert_same(lambda x, i, s: (x.scatter(0, i, s), x.scatter_add(0, i, s)), x, i, s)
    assert_same(lambda x, i, s: x.index_add(0, i, s), x, i, s)


def test_reductions_need_their_opset():
    with pytest.raises(AssertionError, match="lowest_opset=16"):
        lowered(lambda x, i, s: x.scatter_add(0, i, s), (X, INDEX, S), opset=15)
    with pytest.raises(AssertionError, match="lowest_opset=18"):
        lowered(lambda x, i, s: x.scatter_reduce(0, i, s, "amax"), (X, INDEX, S), opset=17)
    assert_same(lambda x, i, s: x.scatter_add(0, i, s), X, INDEX, S, opset=16)
    assert_same(lambda x, i, s: x.scatter(0, i, s), X, INDEX, S, opset=13)
