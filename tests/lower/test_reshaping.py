"""Views, squeezes and expansions."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3, 4)
OTHER = [(torch.randn(5, 3, 4),), (torch.randn(1, 3, 4),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.view(-1),
        lambda x: x.view(x.shape[0], -1),
        lambda x: x.reshape(-1, 4),
        lambda x: x.reshape(x.shape[0], 2, 6),
        lambda x: x.reshape(3, -1, 2),
        lambda x: x.transpose(0, 1).reshape(3, -1),
        lambda x: x.view(x.shape[0] * 3, 4).view_as(x),
        lambda x: x.reshape(-1, 12).reshape_as(x),
        lambda x: x.flatten(),
        lambda x: x.flatten(1),
        lambda x: x.flatten(0, 1),
        lambda x: x.flatten(-2, -1),
        lambda x: x.flatten(1, 1),
        lambda x: x.unflatten(2, (2, -1)),
        lambda x: x.unflatten(-2, (3, 1)),
        lambda x: x.flatten().unflatten(0, (-1, 3, 4)),
        lambda x: x.ravel(),
        lambda x: x.unsqueeze(0),
        lambda x: x.unsqueeze(-1),
        lambda x: x.unsqueeze(2),
        lambda x: x.unsqueeze(1).squeeze(1),
        lambda x: x[:, None, :, None].squeeze((1, 3)),
        lambda x: x.squeeze(1),
        lambda x: x.squeeze(-1),
        lambda x: x.unsqueeze(1).expand(-1, 5, -1, -1),
        lambda x: x.expand(2, -1, -1, -1),
        lambda x: x[:, :1].expand_as(x),
        lambda x: torch.broadcast_to(x[:, :1], x.shape),
        lambda x: torch.broadcast_tensors(x, x[:, :1], x[0, 0]),
        lambda x: torch.broadcast_tensors(x[:, :1, :], x[:1]),
        lambda x: x.contiguous().detach() + 1,
        lambda x: torch.atleast_1d(x, x[0, 0, 0]),
        lambda x: torch.atleast_2d(x, x[0, 0], x[0, 0, 0]),
        lambda x: torch.atleast_3d(x, x[0], x[0, 0], x[0, 0, 0]),
        lambda x: torch.atleast_3d(x[:, 0]),
    ],
)
def test_shapes(call):
    assert_same(call, X, dynamic=({0: "batch"},), others=OTHER)


def test_squeeze_of_all_dimensions():
    others = [(torch.randn(5, 3),)]
    assert_same(lambda x: x[:, None, :, None].squeeze(), X[0], dynamic="auto", others=others)


def test_every_size_is_dynamic():
    def call(x):
        return x.reshape(x.shape[1], x.shape[0] * x.shape[2]), x.flatten(1), x.view(-1, x.shape[2])

    others = [(torch.randn(5, 1, 2),), (torch.randn(1, 7, 1),)]
    assert_same(call, X, dynamic="auto", others=others)


def test_expansion_to_a_size_of_another_tensor():
    def call(x, y):
        return x.unsqueeze(1).expand(x.shape[0], y.shape[0], x.shape[1])

    x, y = torch.randn(2, 3), torch.randn(4)
    assert_same(call, x, y, dynamic="auto", others=[(torch.randn(1, 3), torch.randn(1))])


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.uint8, torch.float64])
def test_expansion_of_any_dtype(dtype):
    assert_same(lambda x: x.unsqueeze(1).expand(-1, 3, -1), torch.ones(2, 2).to(dtype))


def test_scalars_and_empty_tensors():
    assert_same(lambda x: (x.view(1), x.reshape(()), x.flatten(), x.ravel()), torch.tensor(3.0))
    assert_same(lambda x: (x.squeeze(), x.unsqueeze(0), x.expand(2, 3)), torch.tensor(3.0))
    assert_same(lambda x: (x.view(0, 6), x.reshape(3, -1), x.flatten(1)), torch.zeros(3, 0, 2))
    assert_same(lambda x: (x.view(-1, 2), x.expand(4, 3, 0, 2)), torch.zeros(3, 0, 2))


def test_no_node_for_what_changes_nothing():
    result = assert_same(lambda x: x.view(2, -1).view(2, 3, 4).detach().contiguous() * 2, X)
    assert "Reshape" not in {node.op_type for node in result.model.graph if node.outputs[0].uses()}
