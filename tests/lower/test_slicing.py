"""Slices, selections and splits."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(6, 7, 4)
OTHERS = [(torch.randn(8, 9, 5),), (torch.randn(5, 6, 3),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[1:],
        lambda x: x[:-1],
        lambda x: x[-3:],
        lambda x: x[:, 1:4],
        lambda x: x[:, -4:-1],
        lambda x: x[::2],
        lambda x: x[1::3, ::2],
        lambda x: x[:, 1:-1:2],
        lambda x: x[1:3, 2:, :2],
        lambda x: x[..., 1:2],
        lambda x: x[0],
        lambda x: x[-1],
        lambda x: x[:, 0],
        lambda x: x[..., -1],
        lambda x: x[1, 2:, -1],
        lambda x: x[None, ..., 0, None],
        lambda x: x[x.shape[0] // 2 :],
        lambda x: x[:, : x.shape[1] // 2],
        lambda x: x.select(0, x.shape[0] - 1),
        lambda x: x[: x.shape[0]],
        lambda x: x.narrow(0, 1, 2),
        lambda x: x.narrow(1, -3, 2),
        lambda x: x.narrow(-1, 1, x.shape[2] - 1),
        lambda x: x.select(1, 2),
        lambda x: x[2:2],
        lambda x: x[3:1],
    ],
)
def test_parts(call):
    assert_same(call, X, dynamic="auto", others=OTHERS)


@pytest.mark.parametrize("bounds", [(0, 100), (-100, 3), (5, 100), (100, 200), (-100, -50), (7, 2)])
def test_bounds_outside(bounds):
    start, end = bounds
    assert_same(lambda x: x[:, start:end], X)


def test_slices_of_several_dimensions_are_one_node():
    result = assert_same(lambda x: x[1:3, 2:4, ::2] * 1.5, X)
    used = [n for n in result.model.graph if n.op_type == "Slice" and n.outputs[0].uses()]
    assert len(used) == 1


def test_places_from_a_tensor():
    def call(x, i):
        return torch.narrow(x, 1, i, 2)

    for start in (1, -3):
        assert_same(call, X, torch.tensor(start))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.split(2),
        lambda x: x.split(4, dim=1),
        lambda x: x.split([1, 2, 3]),
        lambda x: x.split([3, 1], dim=-1),
        lambda x: torch.split_with_sizes(x, [2, 5], 1),
        lambda x: torch.unsafe_split(x, 3),
        lambda x: torch.unsafe_split_with_sizes(x, [2, 4]),
        lambda x: x.chunk(2),
        lambda x: x.chunk(3, dim=1),
        lambda x: x.chunk(4, dim=0),
        lambda x: x.chunk(1, dim=0),
        lambda x: torch.unsafe_chunk(x, 2, 1),
        lambda x: torch.tensor_split(x, 4),
        lambda x: torch.tensor_split(x, 3, dim=1),
        lambda x: torch.tensor_split(x, (1, 3)),
        lambda x: torch.tensor_split(x, (4, 2, 9), dim=1),
        lambda x: torch.tensor_split(x, (-2,), dim=1),
        lambda x: x.hsplit(7),
        lambda x: x.hsplit([2, 3]),
        lambda x: x.vsplit(3),
        lambda x: x.dsplit([1]),
        lambda x: x[0, 0].hsplit(2),
        lambda x: x.unbind(),
        lambda x: x.unbind(-1),
    ],
)
@pytest.mark.parametrize("opset", [13, 20])
def test_splits(call, opset):
    assert_same(call, X, opset=opset)


def test_splits_where_a_tensor_says():
    others = [(X, torch.tensor([0, 6])), (X, torch.tensor([5, 1]))]
    assert_same(
        lambda x, i: torch.tensor_split(x, i, dim=1), X, torch.tensor([2, 3]), others=others
    )


def test_pieces_of_a_slice():
    assert_same(lambda x: x[0, ::2].unbind(), torch.randn(3, 5, 2), dynamic="auto")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.chunk(2, dim=1),
        lambda x: x.split(2, dim=1),
        lambda x: x.split([2, x.shape[1] - 2], dim=1),
        lambda x: torch.tensor_split(x, 2, dim=1),
        lambda x: torch.tensor_split(x, (1, 2), dim=1),
        lambda x: x.unbind(2),
    ],
)
@pytest.mark.parametrize("opset", [13, 20])
def test_splits_of_dynamic_sizes(call, opset):
    # As many pieces as in the example: more would be another graph.
    others = [(torch.randn(1, 3, 4),), (torch.randn(3, 4, 4),)]
    assert_same(call, torch.randn(2, 3, 4), dynamic=({0: "a", 1: "b"},), others=others, opset=opset)


def test_steps_of_a_size():
    def stepped(x):
        n = x.shape[0]
        square = torch.zeros(n, n)
        square.view(-1)[:: n + 1] += 1
        flat = torch.arange(n * n + 3)
        return square, flat[::n], flat[2 :: n + 1], x.reshape(-1)[1 : n + 2 : n]

    others = [(torch.randn(size, 4),) for size in (1, 2, 7)]
    assert_same(stepped, torch.randn(5, 4), dynamic=({0: "n"},), others=others)
