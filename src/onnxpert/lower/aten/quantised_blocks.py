"""Weights with a scale per group of columns, as torchao and PT2E keep them, and products of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower.aten.quantised import dequantised
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.quantised_product import held
from onnxpert.lower.symbols import Size, same

aten = torch.ops.aten
_BLOCKS_SINCE = 21  # DequantizeLinear takes blocks, and integers of four bits


@lowering(aten._int_mm.default)
def int_mm(op: Emitter, self: ir.Value, mat2: ir.Value) -> ir.Value:
    return op.MatMulInteger(self, mat2)


@lowering("torchao::dequantize_affine")
def dequantize_affine(
    op: Emitter,
    input: ir.Value,
    block_size: Sequence[Size],
    scale: ir.Value,
    zero_point: ir.Value | None,
    input_dtype: torch.dtype,
    quant_min: Any = None,
    quant_max: Any = None,
    output_dtype: torch.dtype = torch.float32,
) -> ir.Value:
    sizes = op.shape(input)
    whole = [same(block, size) for block, size in zip(block_size, sizes, strict=True)]
    single = [same(block, 1) for block in block_size]
    grouped = [axis for axis in range(len(sizes)) if not (whole[axis] or single[axis])]
    own = op.dtype(input)
    if all(whole):
        return dequantised(op, input, scale, zero_point, own, None, output_dtype)
    if len(sizes) == 2 and single[0] and whole[1]:
        return dequantised(op, input, scale, zero_point, own, 0, output_dtype)
    if len(sizes) == 2 and grouped == [1] and single[0]:
        return _grouped(op, input, int(block_size[1]), scale, zero_point, (quant_min, quant_max))
    if grouped:
        raise Refusal("its scales are laid out in blocks of more than one row")
    # Per token: a scale for each place of the leading axes.
    spread = [1 if full else size for full, size in zip(whole, sizes, strict=True)]
    result = op.cast(input, torch.float32)
    if zero_point is not None:
        result = op.Sub(result, op.reshape(op.cast(zero_point, torch.float32), spread))
    result = op.Mul(result, op.reshape(op.cast(scale, torch.float32), spread))
    return op.cast(result, output_dtype)


@lowering("quantized_decomposed::dequantize_per_channel_group")
def dequantize_per_channel_group(
    op: Emitter,
    input: ir.Value,
    scales: ir.Value,
    zero_points: ir.Value | None,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    group_size: int,
    output_dtype: torch.dtype = torch.float32,
) -> ir.Value:
    if op.rank(input) != 2:
        raise Refusal("groups are known of weights with two axes")
    return _grouped(op, input, group_size, scales, zero_points, (quant_min, quant_max))


def _grouped(
    op: Emitter,
    weight: ir.Value,
    group: int,
    scale: ir.Value,
    zero_point: ir.Value | None,
    limits: tuple[Any, Any],
) -> ir.Value:
    """A weight `(rows, columns)` with a scale for every `group` columns of a row."""
    rows, columns = op.shape(weight)
    blocks = (rows, columns // group)
    integers, scales = held(weight), held(scale)
    zeros = held(zero_point)
    known = (
        integers is not None and scales is not None and (zeros is not None or zero_point is None)
    )
    if known and op.opset < _BLOCKS_SINCE:
        op.shared.better_opset = _BLOCKS_SINCE
    if op.opset < _BLOCKS_SINCE or not known:
        return _by_reshaping(op, weight, group, scale, zero_point)
    assert integers is not None
    assert scales is not None
    four = _fits_four_bits(integers, limits)
    stored = _stored(op, weight, integers, four)
    factor = op.const(scales.float().reshape(blocks))
    if zeros is None or not bool(zeros.any()):
        return op.DequantizeLinear(stored, factor, axis=1, block_size=group)
    centre = _integers(op, zeros.reshape(blocks).to(torch.int8), four)
    return op.DequantizeLinear(stored, factor, centre, axis=1, block_size=group)


def _fits_four_bits(integers: torch.Tensor, limits: tuple[Any, Any]) -> bool:
    if limits[0] is None or integers.dtype is not torch.int8:
        return False
    return limits[0] >= -8 and limits[1] <= 7


def _stored(op: Emitter, weight: ir.Value, integers: torch.Tensor, four: bool) -> ir.Value:
    """The weight in the file, in four bits where it has no more; one for all who read it."""
    if not four:
        return weight
    found = weight.meta.get("in four bits")
    if found is None:
        tensor = in_four_bits(integers)
        found = op.initialiser(op.shared.values.unique(f"{weight.name}.int4"), tensor)
        weight.meta["in four bits"] = found
    return found


def in_four_bits(integers: torch.Tensor) -> ir.TensorProtocol:
    return ir.tensor(integers.numpy().astype(ml_dtypes.int4), dtype=ir.DataType.INT4)


def _integers(op: Emitter, values: torch.Tensor, four: bool) -> ir.Value:
    if not four:
        return op.const(values)
    array: Any = np.asarray(values.numpy()).astype(ml_dtypes.int4)
    return op.initialiser(
        op.shared.values.unique("zero_points"), ir.tensor(array, dtype=ir.DataType.INT4)
    )


def _by_reshaping(
    op: Emitter, weight: ir.Value, group: int, scale: ir.Value, zero_point: ir.Value | None
) -> ir.Value:
    rows, columns = op.shape(weight)
    apart = (rows, columns // group, group)
    result = op.reshape(op.cast(weight, torch.float32), apart)
    one_each = (rows, columns // group, 1)
    if zero_point is not None:
        result = op.Sub(result, op.reshape(op.cast(zero_point, torch.float32), one_each))
    result = op.Mul(result, op.reshape(op.cast(scale, torch.float32), one_each))
    return op.reshape(result, (rows, columns))
