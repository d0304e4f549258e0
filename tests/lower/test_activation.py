"""Activation functions."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.lower.same import assert_same

SPREAD = torch.cat([torch.linspace(-30, 30, 61), torch.tensor([0.0, -0.5, 0.5, 1e-4, -1e-4])])
ODD = torch.tensor([math.inf, -math.inf, math.nan, 0.0])

FUNCTIONS: list[Any] = [
    F.relu,
    F.relu6,
    F.hardtanh,
    lambda x: F.hardtanh(x, -0.3, 2.5),
    F.leaky_relu,
    lambda x: F.leaky_relu(x, 1.5),
    F.rrelu,
    F.elu,
    lambda x: F.elu(x, 0.3),
    lambda x: torch.ops.aten.elu(x, 0.3, 1.5, 0.7),
    F.celu,
    lambda x: F.celu(x, 0.4),
    F.selu,
    F.gelu,
    lambda x: F.gelu(x, approximate="tanh"),
    F.silu,
    F.mish,
    F.sigmoid,
    F.logsigmoid,
    F.tanh,
    F.hardsigmoid,
    F.hardswish,
    F.softplus,
    lambda x: F.softplus(x, beta=2.0, threshold=3.0),
    F.softsign,
    F.softshrink,
    lambda x: F.softshrink(x, 1.5),
    F.hardshrink,
    lambda x: F.hardshrink(x, 1.5),
    F.tanhshrink,
    lambda x: F.threshold(x, 0.1, 20.0),
    lambda x: F.threshold(x, 0.0, 0.0),
]


@pytest.mark.parametrize("row", range(len(FUNCTIONS)))
@pytest.mark.parametrize("opset", [13, 20])
def test_of_single_floats(row: int, opset: int) -> None:
    assert_same(FUNCTIONS[row], SPREAD, opset=opset)


@pytest.mark.parametrize("row", range(len(FUNCTIONS)))
def test_of_double_floats(row: int) -> None:
    assert_same(FUNCTIONS[row], SPREAD.double())


@pytest.mark.parametrize("row", range(len(FUNCTIONS)))
def test_of_no_elements_and_no_axes(row: int) -> None:
    assert_same(FUNCTIONS[row], torch.randn(0, 3))
    assert_same(FUNCTIONS[row], torch.randn(()))


@pytest.mark.parametrize(
    "function", [F.relu, F.leaky_relu, F.sigmoid, F.softshrink, F.hardshrink, F.elu, F.softsign]
)
def test_of_infinities_and_nans(function: Any) -> None:
    assert_same(function, ODD)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_of_integers(dtype: torch.dtype) -> None:
    whole = torch.arange(0, 9).to(dtype) - (0 if dtype is torch.uint8 else 4)
    assert_same(F.relu, whole)
    assert_same(torch.sigmoid, whole)
    assert_same(lambda x: F.threshold(x, 1, 3), whole)
    if dtype is not torch.uint8:
        assert_same(lambda x: F.hardtanh(x, -2, 2), whole)


def test_gelu_is_one_node_since_20() -> None:
    for kind in ("none", "tanh"):
        result = assert_same(nn.GELU(kind), torch.randn(3, 4))
        assert [node.op_type for node in result.model.graph] == ["Gelu"]


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("count", [1, 3])
def test_prelu(sizes: tuple[int, ...], count: int) -> None:
    if len(sizes) == 1 and count == 3:
        count = 1
    layer = nn.PReLU(count, init=0.3)
    with torch.no_grad():
        layer.weight.copy_(torch.rand(count))
    assert_same(layer, torch.randn(sizes))
    assert_same(layer.double(), torch.randn(sizes).double())


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_glu(dim: int) -> None:
    assert_same(lambda x: F.glu(x, dim), torch.randn(4, 6))


def test_glu_at_other_sizes() -> None:
    assert_same(F.glu, torch.randn(4, 6), dynamic=({0: "batch"},), others=[[torch.randn(1, 6)]])


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax, F.softmin, torch.special.softmax])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(function: Any, dim: int) -> None:
    assert_same(lambda x: function(x, dim=dim), torch.randn(3, 4, 5), dynamic="auto")


def test_softmax_of_other_dtypes_and_ranks() -> None:
    whole = torch.tensor([[1, 2, 3], [4, 4, 4]])
    assert_same(lambda x: F.softmax(x, dim=-1, dtype=torch.float64), torch.randn(2, 3))
    assert_same(lambda x: F.softmax(x, dim=-1, dtype=torch.float32), whole)
    assert_same(lambda x: F.log_softmax(x, dim=-1, dtype=torch.float32), whole)
    assert_same(lambda x: torch._softmax(x, -1, False), torch.randn(2, 3))
    assert_same(lambda x: F.softmax(x, dim=0), torch.randn(()))
    assert_same(lambda x: F.log_softmax(x, dim=-1), torch.randn(()))
    assert_same(lambda x: F.softmax(x, dim=-1), torch.randn(0, 3))


def test_softmax_of_rows_that_are_all_masked() -> None:
    scores = torch.randn(3, 4)
    scores[1] = -math.inf
    assert_same(lambda x: F.softmax(x, dim=-1), scores)
    assert_same(lambda x: torch.ops.aten._safe_softmax(x, -1), scores)


def test_rrelu_in_training_is_random() -> None:
    assert_same(lambda x: F.rrelu(x, training=True), torch.randn(3, 4), values=False)
    ones = -torch.ones(3, 4)
    assert_same(lambda x: F.rrelu(x, 0.5, 0.5, training=True), ones)


def test_of_half_floats() -> None:
    half = torch.randn(3, 4).half()
    for function in (F.relu, F.gelu, F.silu, F.leaky_relu, F.softplus, F.celu, F.hardswish):
        assert_same(function, half)
    assert_same(lambda x: F.softmax(x, dim=-1), half)


def test_the_tail_of_log_sigmoid_is_not_zero() -> None:
    assert_same(lambda x: torch.log2(-F.logsigmoid(x)), torch.tensor([-30.0, 0.0, 5.0, 23.0, 60.0]))
