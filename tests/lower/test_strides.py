"""Views by strides."""

from __future__ import annotations

import pytest
import torch

from onnxpert.capture import capture
from onnxpert.core.types import Request
from onnxpert.load import load
from onnxpert.lower import lower
from tests.lower.same import assert_same

X = torch.randn(4, 6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.as_strided((3, 3), (6, 1)),
        lambda x: x.as_strided((2, 3, 2), (6, 2, 1), 1),
        lambda x: x.as_strided((5,), (0,)),
        lambda x: x.as_strided((), (), 7),
        lambda x: torch.as_strided_scatter(x, torch.zeros(2, 2), (2, 2), (6, 2), 1),
        lambda x: (x * 2).as_strided((2, 2), (1, 2)),
    ],
)
def test_views(call):
    assert_same(call, X)


def test_dynamic_sizes():
    def call(x):
        return x.as_strided((x.shape[0], 2), (x.shape[1], 1))

    assert_same(call, X, dynamic="auto", others=[(torch.randn(2, 3),)])


def test_writes():
    def call(x):
        x = x.clone()
        x.as_strided((4,), (7,)).fill_(0)
        return x

    assert_same(call, X)


def test_what_lies_in_another_order_is_refused():
    result = lower(
        capture(load(Request(lambda x: x.t().as_strided((2, 2), (1, 2)), (X,)))), opset=20
    )
    assert "do not lie in order" in result.unsupported[0].reason
