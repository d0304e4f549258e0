"""Sliding windows."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

X = torch.randn(2, 3, 8, 7)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.unfold(2, 3, 1),
        lambda x: x.unfold(-1, 2, 2),
        lambda x: x.unfold(2, 2, 2),
        lambda x: x.unfold(2, 4, 3).unfold(3, 2, 1),
        lambda x: x.unfold(0, 1, 1),
        lambda x: x[0, 0, 0].unfold(0, 3, 2),
    ],
)
def test_windows(call):
    assert_same(call, X)
    dynamic = ({0: "a", 2: "h", 3: "w"},)
    assert_same(call, X, dynamic=dynamic, others=[(torch.randn(1, 3, 10, 5),)])


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"padding": 1, "dilation": 2}, {"padding": (0, 2)}]
)
def test_patches(options):
    dynamic = ({0: "a", 2: "h", 3: "w"},)
    others = [(torch.randn(1, 3, 10, 5),)]
    assert_same(lambda x: F.unfold(x, (3, 2), **options), X, dynamic=dynamic, others=others)
    assert_same(lambda x: F.unfold(x, 2, **options), X[0])


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"padding": 1, "dilation": 2}, {"padding": (0, 1)}]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("opset", [16, 20])
def test_patches_put_together(options, dtype, opset):
    columns = F.unfold(X, (3, 2), **options).to(dtype)
    dynamic = ({0: "batch"},)
    others = [(torch.cat([columns, columns]),)]

    def call(x):
        return F.fold(x, (8, 7), (3, 2), **options)

    assert_same(call, columns, dynamic=dynamic, others=others, opset=opset)
    assert_same(call, columns[0], opset=opset)


def test_patches_of_a_dynamic_image():
    def call(x):
        return F.fold(F.unfold(x, 2, stride=2), x.shape[2:], 2, stride=2)

    dynamic = ({0: "a", 2: "h", 3: "w"},)
    assert_same(call, torch.randn(2, 3, 4, 6), dynamic=dynamic, others=[(torch.randn(1, 3, 8, 2),)])
