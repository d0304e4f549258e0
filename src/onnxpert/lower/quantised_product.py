"""Products with quantised weights, in the form that runtimes have a kernel for.

`MatMulInteger` for an activation whose scale comes with the data (30 times as quick in ONNX Runtime as
to multiply the floats), else a `MatMul` with the weight turned beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter


@dataclass(frozen=True, slots=True)
class _Factor:
    """Where a float operand of a product comes from."""

    integers: ir.Value
    scale: ir.Value
    zero_point: ir.Value | None
    axis: int
    per_channel: bool
    block: int = 0  # columns that share a scale; 0: all of a row


def held(value: ir.Value | None) -> torch.Tensor | None:
    """The numbers of a constant of the file, weights included."""
    tensor = None if value is None else value.const_value
    if tensor is None:
        return None
    raw = getattr(tensor, "raw", None)
    if isinstance(raw, torch.Tensor):
        return None if raw.is_meta else raw.detach()
    return torch.from_numpy(tensor.numpy().copy())


def product(op: Emitter, x: ir.Value, weight: ir.Value, bias: ir.Value | None) -> ir.Value | None:
    """`x @ weight.T + bias` of a weight that was integers a moment ago; None for any other."""
    w = _factor(weight)
    if w is None or op.rank(weight) != 2 or (w.per_channel and w.axis != 0):
        return None
    if w.block:
        result = op.MatMul(x, _turned_blocks(op, w))
        return result if bias is None else op.Add(result, bias)
    integers = held(w.integers)
    if integers is None or held(w.scale) is None or integers.dtype not in {torch.int8, torch.uint8}:
        return None
    turned = _turned(op, w.integers, integers)
    a = _factor(x)
    if a is not None and not a.per_channel and held(a.scale) is None:
        result = _in_integers(op, a, w, turned)
    elif a is not None and op.rank(x) == 2:
        return None  # a Gemm with scales known beforehand, which runtimes fuse with its bias
    elif a is not None:
        axis = {"axis": 1} if w.per_channel else {}
        result = op.MatMul(x, op.DequantizeLinear(turned, w.scale, w.zero_point, **axis))
    else:
        result = _scaled_after(op, x, w, turned)
    return result if bias is None else op.Add(result, bias)


def _factor(value: ir.Value) -> _Factor | None:
    node = value.producer()
    if node is None or node.op_type != "DequantizeLinear":
        return None
    integers, scale, *rest = node.inputs
    if integers is None or scale is None or scale.dtype != ir.DataType.FLOAT:
        return None
    axis = node.attributes.get_int("axis", 1)
    block = node.attributes.get_int("block_size", 0)
    sizes = scale.shape if scale.shape is not None else scale.meta.get("shape", ())
    return _Factor(integers, scale, rest[0] if rest else None, axis, len(sizes) == 1, block)


def _turned(op: Emitter, value: ir.Value, integers: torch.Tensor) -> ir.Value:
    """The weight as a product reads it: turned once, here, for a file is read more often."""
    found = value.meta.get("turned")
    if found is None:
        tensor = ir.tensor_adapters.TorchTensor(integers.t().contiguous())
        name = op.shared.values.unique(f"{value.name}.turned")
        found = value.meta["turned"] = op.initialiser(name, tensor)
        found.meta["weight"] = True  # stays what it is, and where it is
    return found


def _scaled_after(op: Emitter, x: ir.Value, w: _Factor, turned: ir.Value) -> ir.Value:
    """A float activation: the product with the integers, as floats, and the scale behind it.

    Of the scale before it ONNX Runtime makes a product that rounds the activation as well."""
    whole = op.cast(turned, torch.float32)
    known = held(w.zero_point)
    if known is not None and bool(known.any()):
        whole = op.Sub(whole, op.const(known.float()))
    return op.Mul(op.MatMul(x, whole), w.scale)


def _turned_blocks(op: Emitter, w: _Factor) -> ir.Value:
    """The same with a scale for each block of a column, which becomes MatMulNBits when it is loaded."""
    parts = [w.integers, w.scale, *([] if w.zero_point is None else [w.zero_point])]
    return op.DequantizeLinear(
        *(_turned_tensor(op, part) for part in parts), axis=0, block_size=w.block
    )


def _turned_tensor(op: Emitter, value: ir.Value) -> ir.Value:
    found = value.meta.get("turned")
    if found is None:
        assert value.const_value is not None
        array = np.ascontiguousarray(value.const_value.numpy().T)
        tensor = ir.tensor(array, dtype=value.const_value.dtype)
        name = op.shared.values.unique(f"{value.name}.turned")
        found = value.meta["turned"] = op.initialiser(name, tensor)
    return found


def _in_integers(op: Emitter, a: _Factor, w: _Factor, turned: ir.Value) -> ir.Value:
    zero = w.zero_point
    known = held(zero)
    if known is not None and not bool(known.any()):
        zero = None
    whole = op.MatMulInteger(a.integers, turned, a.zero_point, zero)
    op.describe(whole, (*op.shape(a.integers)[:-1], op.shape(turned)[-1]))
    return op.Mul(op.cast(whole, torch.float32), op.Mul(a.scale, w.scale))
