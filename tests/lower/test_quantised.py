"""Rounding to integers of a scale: `quantized_decomposed` and its kin, in ONNX Runtime and in torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # makes torch.ops.quantized_decomposed

from tests.lower.same import assert_same

decomposed = torch.ops.quantized_decomposed


def values() -> torch.Tensor:
    return torch.linspace(-9.7, 9.3, 24).reshape(4, 6)


@pytest.mark.parametrize("opset", [13, 20, 21])
@pytest.mark.parametrize(
    ("low", "high", "dtype", "zero"),
    [
        (0, 255, torch.uint8, 100),
        (-128, 127, torch.int8, 3),
        (0, 127, torch.uint8, 50),
        (-8, 7, torch.int8, 0),
        (-32768, 32767, torch.int16, 5),
        (-(2**31), 2**31 - 1, torch.int32, 5),
    ],
    ids=["uint8", "int8", "7 bits", "4 bits", "int16", "int32"],
)
def test_there_and_back(low: int, high: int, dtype: torch.dtype, zero: int, opset: int) -> None:
    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        whole = decomposed.quantize_per_tensor(x, 0.13, zero, low, high, dtype)
        return whole, decomposed.dequantize_per_tensor(whole, 0.13, zero, low, high, dtype)

    assert_same(both, values(), dynamic="auto", opset=opset)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [torch.int8, torch.int16])
def test_per_channel(axis: int, dtype: torch.dtype) -> None:
    limits = torch.iinfo(dtype)
    count = values().shape[axis]
    scales, zeros = torch.rand(count) + 0.1, torch.arange(count)

    def both(x: torch.Tensor) -> torch.Tensor:
        given = (scales, zeros, axis, limits.min, limits.max, dtype)
        whole = decomposed.quantize_per_channel(x, *given)
        return decomposed.dequantize_per_channel(whole, *given)

    assert_same(both, values(), opset=20)


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_range_read_off_the_data(symmetric: bool) -> None:
    choose = (
        decomposed.choose_qparams_symmetric.tensor
        if symmetric
        else decomposed.choose_qparams.tensor
    )

    def both(x: torch.Tensor) -> torch.Tensor:
        scale, zero = choose(x, -128, 127, 1e-7, torch.int8)
        whole = decomposed.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
        return decomposed.dequantize_per_tensor.tensor(whole, scale, zero, -128, 127, torch.int8)

    assert_same(both, values(), dynamic="auto", others=[(values() * 0,), (values() + 20,)])


def integers(*sizes: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-8, 8, sizes, dtype=torch.int8, generator=generator)


@pytest.mark.parametrize(("opset", "node"), [(20, "Gemm"), (21, "DequantizeLinear")])
@pytest.mark.parametrize("zero", [0, 2])
def test_groups_of_columns(opset: int, node: str, zero: int) -> None:
    weight, scales = integers(6, 64), torch.rand(6, 2) + 0.1
    zeros = torch.full((6, 2), zero, dtype=torch.int8)

    def product(x: torch.Tensor) -> torch.Tensor:
        whole = decomposed.dequantize_per_channel_group(
            weight, scales, zeros, -8, 7, torch.int8, 32, torch.float32
        )
        return torch.nn.functional.linear(x, whole)

    x = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    result = assert_same_rounding(product, x, opset)
    assert node in {one.op_type for one in result.model.graph}
    assert result.better_opset == (21 if opset < 21 else None)


def assert_same_rounding(function: Any, x: torch.Tensor, opset: int) -> Any:
    """From opset 21 on ONNX Runtime rounds the activation too, until the pass for it has run."""
    if opset < 21:
        return assert_same(function, x, opset=opset)
    from tests.lower.same import lowered

    return lowered(function, (x,), opset=opset)


def test_a_product_of_integers() -> None:
    assert_same(torch._int_mm, integers(32, 16), integers(16, 8), nodes=["MatMulInteger"])


@pytest.mark.parametrize("tensor", [False, True], ids=["numbers", "tensors"])
def test_fake_quantize(tensor: bool) -> None:
    scale: Any = torch.tensor(0.13) if tensor else 0.13
    zero: Any = torch.tensor(7, dtype=torch.int32) if tensor else 7
    assert_same(
        lambda x: torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255),
        values(),
        dynamic="auto",
        nodes=["QuantizeLinear", "DequantizeLinear"],
    )


def test_a_weight_is_stored_as_its_integers() -> None:
    weight, scales = torch.randn(4, 6), torch.rand(4) + 0.1
    zeros = torch.zeros(4, dtype=torch.int32)

    def product(x: torch.Tensor) -> torch.Tensor:
        rounded = torch.fake_quantize_per_channel_affine(weight, scales, zeros, 0, -128, 127)
        return torch.nn.functional.linear(x, rounded)

    result = assert_same(product, values(), nodes=["MatMul"])
    assert "QuantizeLinear" not in {one.op_type for one in result.model.graph}
