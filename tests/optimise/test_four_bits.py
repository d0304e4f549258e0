"""Weights of four bits as one operator of ONNX Runtime's, and what that may not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # makes torch.ops.quantized_decomposed

from onnxpert.optimise import optimise
from onnxpert.targets.kernels import installed
from tests.lower.same import lowered

decomposed = torch.ops.quantized_decomposed


def product(group: int, zero: int) -> Any:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randint(-8, 8, (24, 192), dtype=torch.int8, generator=generator)
    scales = torch.rand(24, 192 // group, generator=generator) + 0.1
    zeros = torch.full_like(scales, zero, dtype=torch.int8)

    def call(x: torch.Tensor) -> torch.Tensor:
        whole = decomposed.dequantize_per_channel_group(
            weight, scales, zeros, -8, 7, torch.int8, group, torch.float32
        )
        return torch.nn.functional.linear(x, whole)

    return call


@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("group", [32, 64])  # six and three blocks: zero points fill a byte, or not
def test_it_computes_the_same(group: int, zero: int) -> None:
    call = product(group, zero)
    x = torch.randn(3, 192, generator=torch.Generator().manual_seed(1))
    result = lowered(call, (x,), opset=21)
    result = optimise(result, own=installed("ort-cpu"))
    assert [node.op_type for node in result.model.graph] == ["MatMulNBits"]
    session = onnxruntime.InferenceSession(ir.to_proto(result.model).SerializeToString())
    (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(got, call(x).numpy(), rtol=1e-4, atol=1e-3)


def test_without_the_kernel_it_stays_in_the_standard() -> None:
    result = optimise(lowered(product(32, 0), (torch.randn(3, 192),), opset=21))
    assert {node.domain for node in result.model.graph} == {""}


def test_a_group_that_the_operator_does_not_take_stays() -> None:
    result = lowered(product(48, 0), (torch.randn(3, 192),), opset=21)
    result = optimise(result, own=installed("ort-cpu"))
    assert "MatMulNBits" not in {node.op_type for node in result.model.graph}
