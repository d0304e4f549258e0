"""Borders."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

X = torch.randn(2, 3, 6, 5)
DYNAMIC = ({0: "batch", 2: "height", 3: "width"},)
OTHERS = [(torch.randn(1, 3, 9, 4),), (torch.randn(3, 3, 4, 7),)]


@pytest.mark.parametrize(
    "pad", [(1, 2), (1, 2, 3, 0), (0, 0), (-1, 2), (-1, -1, 2, -2), (1, 0, 0, 1, 2, 2)]
)
@pytest.mark.parametrize("value", [0, 1.5, float("-inf")])
def test_constant(pad, value):
    assert_same(lambda x: F.pad(x, pad, value=value), X, dynamic=DYNAMIC, others=OTHERS)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(1, 2, 0, 3), (2, 0, 1, 1), (-1, 2, 0, -2), (0, 0, 0, 0)])
def test_continued(mode, pad):
    assert_same(lambda x: F.pad(x, pad, mode=mode), X, dynamic=DYNAMIC, others=OTHERS)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_ranks(mode):
    assert_same(lambda x: F.pad(x, (1, 2), mode=mode), torch.randn(3, 4, 5))
    assert_same(lambda x: F.pad(x, (1, 2), mode=mode), torch.randn(4, 5))
    assert_same(lambda x: F.pad(x, (1, 2, 1, 0, 0, 1), mode=mode), torch.randn(1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.ReflectionPad1d((1, 2)),
        torch.nn.ReplicationPad1d(2),
        torch.nn.ConstantPad1d(2, 3.5),
        torch.nn.ZeroPad1d(1),
        torch.nn.CircularPad1d(2),
    ],
)
def test_modules(module):
    assert_same(module, torch.randn(2, 3, 5))


def test_as_far_as_another_tensor_says():
    def call(x, y):
        return F.pad(x, (0, y.shape[0] - x.shape[1]))

    x, y = torch.randn(2, 3), torch.randn(5)
    assert_same(call, x, y, dynamic="auto", others=[(torch.randn(4, 1), torch.randn(4))])


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.int64, torch.float64])
@pytest.mark.parametrize("opset", [13, 20])
def test_dtypes(dtype, opset):
    x = torch.ones(1, 2, 3).to(dtype)
    assert_same(lambda x: F.pad(x, (1, 2)), x, opset=opset)
    assert_same(lambda x: F.pad(x, (1, 2), value=1), x, opset=opset)
