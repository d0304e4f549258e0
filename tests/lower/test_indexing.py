"""Indexing by tensors, read and written."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same, lowered

put = torch.ops.aten.index_put

X = torch.randn(4, 5, 6, 3)
INDEX = torch.tensor([2, 0, -1])
J = torch.tensor([1, -2, 0])
K = torch.tensor([[0], [1]])
DYNAMIC = ({0: "a", 1: "b", 2: "c", 3: "d"}, None, None, None)
OTHERS = [(torch.randn(3, 4, 7, 5), INDEX, J, K), (torch.randn(9, 3, 3, 4), J, INDEX, K)]

_READS = {
    "first": lambda x, i, j, k: x[i],
    "second": lambda x, i, j, k: x[:, i],
    "last": lambda x, i, j, k: x[..., i],
    "matrix of indices": lambda x, i, j, k: x[:, k],
    "two in front": lambda x, i, j, k: x[i, j],
    "two broadcast": lambda x, i, j, k: x[i, k],
    "two after another": lambda x, i, j, k: x[:, i, j],
    "two after another, broadcast": lambda x, i, j, k: x[:, k, j],
    "two at the end": lambda x, i, j, k: x[:, :, i, j],
    "two apart": lambda x, i, j, k: x[i, :, j],
    "two apart, broadcast": lambda x, i, j, k: x[:, i, :, k],
    "three": lambda x, i, j, k: x[i, j, k],
    "three, apart": lambda x, i, j, k: x[i, j, :, k],
    "all": lambda x, i, j, k: x[i, j, k, i],
    "with a number": lambda x, i, j, k: x[0, :, i],
    "with a slice": lambda x, i, j, k: x[1:, i, ::2],
    "with a new dimension": lambda x, i, j, k: x[:, None, i],
    "numbers in a list": lambda x, i, j, k: x[:, [0, 2]],
    "numbers in two lists": lambda x, i, j, k: x[:, [0, 2], [1, -1]],
    "a single element": lambda x, i, j, k: x[:, i[0], j[1]],
    "positions": lambda x, i, j, k: x[torch.arange(x.shape[0])[:, None], i],
    "positions of all": lambda x, i, j, k: x[
        torch.arange(x.shape[0]), torch.arange(x.shape[0]) % 3
    ],
    "32 bits": lambda x, i, j, k: x[:, i.int()],
}


@pytest.mark.parametrize("name", _READS)
def test_reads(name):
    assert_same(_READS[name], X, INDEX, J, K, dynamic=DYNAMIC, others=OTHERS)


_MASKED = {
    "all": lambda x: x[x > 0],
    "first": lambda x: x[x[:, 0, 0] > 0],
    "second": lambda x: x[:, x[0, :, 0] > 0],
    "last": lambda x: x[..., x[0, 0] > 0],
    "first two": lambda x: x[x[:, :, 0] > 0],
    "last two": lambda x: x[:, x[0] > 0],
    "with an index": lambda x: x[x[:, 0, 0] > 0, torch.tensor([1])],
    "with an index, apart": lambda x: x[x[:, 0, 0] > 0, :, torch.tensor([1])],
    "with an index after it": lambda x: x[:, x[0, :, 0] > 0, torch.tensor([1])],
    "with a number": lambda x: x[0, x[0, :, 0] > 0],
    "used further": lambda x: (x[x > 0] * 2).sum() + x[x > 0].reshape(-1, 1).shape[0],
}


@pytest.mark.parametrize("name", _MASKED)
def test_masks(name):
    others = [(torch.randn(3, 4, 2),), (torch.randn(1, 2, 2),), (torch.full((2, 3, 2), -1.0),)]
    assert_same(_MASKED[name], torch.randn(3, 4, 5), dynamic="auto", others=others)


V = torch.randn(3)
_WRITES = {
    "first": lambda put, x, i, j, v: put(x, [i], v[0]),
    "rows": lambda put, x, i, j, v: put(x, [i], torch.ones(3, 1, 6) * 2),
    "second": lambda put, x, i, j, v: put(x, [None, i], v[:, None]),
    "second, broadcast": lambda put, x, i, j, v: put(x, [None, i], x[:, i] * 2),
    "last": lambda put, x, i, j, v: put(x, [None, None, i], v),
    "two": lambda put, x, i, j, v: put(x, [i, j], v[:, None]),
    "two at the end": lambda put, x, i, j, v: put(x, [None, i, j], v),
    "two apart": lambda put, x, i, j, v: put(x, [i, None, j], v[:, None]),
    "three": lambda put, x, i, j, v: put(x, [i, j, i], v),
    "grid": lambda put, x, i, j, v: put(x, [i[:, None], j], torch.ones(3, 1, 1)),
}


@pytest.mark.parametrize("name", _WRITES)
@pytest.mark.parametrize("accumulate", [False, True])
def test_writes(name, accumulate):
    def call(x, i, j, v):
        return _WRITES[name](lambda *args: put(*args, accumulate), x, i, j, v)

    x = torch.randn(4, 5, 6)
    others = [(torch.randn(3, 6, 6), J, INDEX, torch.randn(3)), (torch.randn(3, 3, 6), INDEX, J, V)]
    assert_same(call, x, INDEX, J, V, dynamic=({0: "a", 1: "b"}, None, None, None), others=others)


def test_repeated_places_add_up():
    i = torch.tensor([1, 1, 0, 1, -1])
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int8, torch.float16):
        x = torch.zeros(3, 2, dtype=dtype)
        ones = torch.ones(5, 2, dtype=dtype)
        assert_same(lambda x, i, ones: put(x, [i], ones, True), x, i, ones)


_MASKED_WRITES = {
    "a number": lambda x, m: put(x, [m], torch.tensor(2.0)),
    "a number added": lambda x, m: put(x, [m], torch.tensor(2.0), True),
    "a row": lambda x, m: put(x, [m[:, 0]], torch.arange(4.0)),
    "a row of one": lambda x, m: put(x, [m[:, 0]], torch.arange(4.0)[None]),
    "a column": lambda x, m: put(x, [None, m[0]], torch.ones(1, 1)),
    "as many as there are": lambda x, m: put(x, [m], x[m] * 2),
    "rows, as many": lambda x, m: put(x, [m[:, 0]], x[m[:, 0]] + 1),
    "columns, as many": lambda x, m: put(x, [None, m[0]], x[:, m[0]] + 1),
    "added, as many": lambda x, m: put(x, [m], x[m], True),
    "with an index": lambda x, m: put(x, [m[:, 0], torch.tensor([1])], torch.tensor(9.0)),
    "with a matrix of indices": lambda x, m: put(
        x, [m[:, 0], torch.tensor([[0], [1]])], torch.tensor(9.0)
    ),
    "behind a dimension, with a matrix": lambda x, m: put(
        x[None], [None, m[:, 0], torch.tensor([[0], [1]])], torch.tensor(9.0)
    ),
    "with an index, added": lambda x, m: put(
        x, [m[:, 0], torch.tensor([1])], torch.tensor(9.0), True
    ),
}


@pytest.mark.parametrize("name", _MASKED_WRITES)
def test_masked_writes(name):
    x = torch.randn(3, 4)
    other = torch.randn(6, 4)
    nothing = torch.zeros(2, 4, dtype=torch.bool)
    others = [(other, other > 0.3), (torch.randn(2, 4), nothing), (torch.randn(2, 4), ~nothing)]
    dynamic = ({0: "a"}, {0: "a"})
    assert_same(_MASKED_WRITES[name], x, x > 0, dynamic=dynamic, others=others)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.uint8, torch.int64])
def test_dtypes(dtype):
    x = torch.ones(3, 4).to(dtype)
    assert_same(lambda x, i: (x[i], x[:, i], x[i, i], x[x > 0]), x, torch.tensor([0, 2]))
    assert_same(lambda x, i: put(x, [i], torch.zeros(4, dtype=x.dtype)), x, torch.tensor([0]))
    assert_same(lambda x: put(x, [x > 0], torch.zeros((), dtype=x.dtype)), x)


def test_flat_places():
    x, i = torch.randn(3, 4), torch.tensor([[0, 5], [-1, 2]])
    others = [(torch.randn(2, 6), i)]
    dynamic = ({0: "a", 1: "b"}, None)
    assert_same(lambda x, i: x.take(i), x, i, dynamic=dynamic, others=others)
    assert_same(lambda x, i: x.put(i, torch.ones(2, 2)), x, i, dynamic=dynamic, others=others)
    assert_same(lambda x, i: x.put(i, torch.ones(4), True), x, i, dynamic=dynamic, others=others)


def test_an_index_without_dimensions():
    def read(x, i, j):
        return torch.ops.aten.index(x, [i, j])

    others = [(torch.randn(3, 4, 7), torch.tensor([0]), torch.tensor(2))]
    dynamic = ({0: "a", 1: "b", 2: "c"}, {0: "n"}, None)
    assert_same(read, X[..., 0], INDEX, J[0], dynamic=dynamic, others=others)
    assert_same(lambda x, i, j: put(x, [i, j], torch.ones(3, 1), True), X[..., 0], INDEX, J[0])


def test_nothing_put_nowhere():
    nowhere = torch.zeros(0, dtype=torch.long)
    assert_same(lambda x, i: x.put(i, x, True), torch.zeros(0), nowhere)
    assert_same(lambda x, i: (x[i], x[:, i], x[i, i]), torch.randn(3, 4), nowhere)
    assert_same(lambda x, i: put(x, [i], torch.ones(0, 4), True), torch.randn(3, 4), nowhere)


def test_sums_need_their_opset():
    def call(x, i):
        return put(x, [i], torch.ones(3), True)

    with pytest.raises(AssertionError, match="lowest_opset=16"):
        lowered(call, (torch.zeros(4), INDEX), opset=15)
    assert_same(lambda x, i: put(x, [i], torch.ones(3)), torch.zeros(4), INDEX, opset=13)
