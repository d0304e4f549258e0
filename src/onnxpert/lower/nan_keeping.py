"""Extremes and samples that see a NaN as torch does, pooling that sees minus infinity: runtimes do not.

It takes a second look at every element, so that a file has it only where the proof found a NaN that
matters, or where one is to be expected. A NaN is beyond every number: the largest, the smallest, the first of a descending order.
A window of nothing but minus infinity is the lowest finite number to ONNX Runtime, which begins its search there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import torch

_REDUCED = frozenset({"ReduceMax", "ReduceMin"})
_PLACED = frozenset({"ArgMax", "ArgMin"})
_POOLED = frozenset({"MaxPool", "GlobalMaxPool"})
_SAMPLED = "GridSample"  # blind to a point that is nowhere
BLIND = _REDUCED | _PLACED | _POOLED | {"TopK", _SAMPLED}  # to a NaN
# They give NaN without having been given one, at values that an example need not have.
_BEARS_NAN = frozenset({"Acos", "Acosh", "Asin", "Atanh", "Div", "Log", "Pow", "Sqrt"})
# The look back ends here: before these nearly every model has a quotient or a root somewhere.
_MIXES = frozenset({
    "Attention", "Conv", "ConvTranspose", "Gemm", "LayerNormalization", "MatMul", "RMSNormalization",
    "ReduceMean", "ReduceSum", "Softmax",
})  # fmt: skip
_FURTHEST = 32  # nodes back from an extreme
_GUARDS = frozenset({"Clip", "Exp", "Max", "Softmax", "Sigmoid"})
_NOT_NEGATIVE = frozenset({"Abs", "ReduceSumSquare", "Relu"})


def seeing(op: Any, op_type: str, first: Any, outputs: int) -> Callable[..., Any] | None:
    """How to write an operator so that it sees a NaN; None: as it is."""
    if op_type not in BLIND or not isinstance(first, ir.Value):
        return None
    source = _sinks if op_type in _POOLED else _is_bearer
    expected = op_type != _SAMPLED and _comes_from(first, source)
    if not op.dtype(first).is_floating_point or not (op.shared.keeps_nan or expected):
        return None
    if op_type in _ALONE:
        return _ALONE[op_type]
    if op_type in _PLACED:
        return functools.partial(_placed, op_type)
    return functools.partial(_pooled if op_type in _POOLED else _found, op_type, outputs)


def _comes_from(x: ir.Value, source: Callable[[ir.Node], bool]) -> bool:
    """Whether it comes, number by number, from such a node."""
    seen: set[ir.Node] = set()
    ahead = [x.producer()]
    while ahead and len(seen) < _FURTHEST:
        node = ahead.pop()
        if node is None or node in seen or node.op_type in _MIXES:
            continue
        if source(node):
            return True
        seen.add(node)
        ahead += [value.producer() for value in node.inputs if value is not None]
    return False


def _is_bearer(node: ir.Node) -> bool:
    """Whether an operator bears NaN of numbers that vary."""
    last = node.inputs[-1] if node.inputs else None
    if node.op_type == "Where":
        return any(_is_nan(value) for value in node.inputs[1:])
    if node.op_type not in _BEARS_NAN or last is None:
        return False
    if node.op_type in {"Div", "Pow"} and last.const_value is not None:
        return False
    return not _is_guarded(node.op_type, last.producer())


def _sinks(node: ir.Node) -> bool:
    """Whether it puts minus infinity where a mask or a border says."""
    if node.op_type not in {"Where", "Pad"}:
        return False
    return any(_is_constant(value, -torch.inf) for value in node.inputs[1:])


def _is_constant(value: ir.Value | None, number: float) -> bool:
    known = None if value is None else value.const_value
    return known is not None and known.size == 1 and bool((known.numpy() == number).all())


def _is_nan(value: ir.Value | None) -> bool:
    known = None if value is None else value.const_value
    return known is not None and known.size == 1 and bool((known.numpy() != known.numpy()).all())


def _is_guarded(op_type: str, maker: ir.Node | None) -> bool:
    """Whether a model sees to it that there is no NaN: a divisor, or a root's number, kept from it."""
    if maker is None or op_type not in {"Div", "Sqrt", "Log"}:
        return False
    if maker.op_type == "Add":  # x / (n + 1e-6)
        return any(each is not None and each.const_value is not None for each in maker.inputs)
    return maker.op_type in _GUARDS or (op_type == "Sqrt" and maker.op_type in _NOT_NEGATIVE)


def _found(name: str, outputs: int, op: Any, x: ir.Value, *rest: Any, **attributes: Any) -> Any:
    plain = op.emit(name, x, *rest, _outputs=outputs, _as_it_is=True, **attributes)
    marks = op.cast(op.IsNaN(x), torch.int32)
    some = op.cast(op.emit("ReduceMax", marks, *rest, _as_it_is=True, **attributes), torch.bool)
    nan = op.scalar(torch.nan, op.dtype(x))
    if outputs == 1:
        return op.Where(some, nan, plain)
    return (op.Where(some, nan, plain[0]), *plain[1:])


def _pooled(name: str, outputs: int, op: Any, x: ir.Value, **attributes: Any) -> Any:
    def in_window(marks: ir.Value) -> Any:
        counted = op.cast(marks, torch.float32)
        return op.Greater(op.emit(name, counted, _as_it_is=True, **attributes), 0.0)

    plain = op.emit(name, x, _outputs=outputs, _as_it_is=True, **attributes)
    least = op.scalar(-torch.inf, op.dtype(x))
    values = op.Where(in_window(op.Greater(x, least)), plain if outputs == 1 else plain[0], least)
    if op.shared.keeps_nan:
        values = op.Where(in_window(op.IsNaN(x)), op.scalar(torch.nan, op.dtype(x)), values)
    return values if outputs == 1 else (values, *plain[1:])


def _placed(name: str, op: Any, x: ir.Value, axis: int = 0, **attributes: Any) -> Any:
    marks = op.cast(op.IsNaN(x), torch.int32)
    given = {"axis": axis, **attributes}
    some = op.reduce("ReduceMax", marks, [axis], keepdims=bool(attributes.get("keepdims", 1)))
    first = op.emit("ArgMax", marks, _as_it_is=True, **given)
    return op.Where(op.cast(some, torch.bool), first, op.emit(name, x, _as_it_is=True, **given))


def _sorted(op: Any, x: ir.Value, k: Any, axis: int = -1, **attributes: Any) -> Any:
    """Ordered by numbers: the largest there is stands for infinity, and infinity for NaN."""
    dtype = op.dtype(x)
    most = op.scalar(torch.finfo(dtype).max, dtype)
    beyond = op.scalar(torch.inf, dtype)
    keys = op.Where(op.IsNaN(x), beyond, op.Min(x, most))
    _, places = op.emit("TopK", keys, k, _outputs=2, _as_it_is=True, axis=axis, **attributes)
    return op.GatherElements(x, places, axis=axis), places


def _point(op: Any, x: ir.Value, grid: ir.Value, **attributes: Any) -> Any:
    """Of a place that is no number, or beyond all of them: NaN, or the nearest of nothing but zeros.

    At a border that goes on torch takes what it happens to come to, and so does the runtime."""
    found = op.emit(_SAMPLED, x, grid, _as_it_is=True, **attributes)
    mode, padding = attributes.get("mode", "linear"), attributes.get("padding_mode", "zeros")
    if padding != "zeros" and "cubic" not in mode:
        return found
    lost = op.reduce("ReduceSum", op.Sub(grid, grid), [-1], keepdims=False)  # 0, or NaN
    lost = op.unsqueeze(op.cast(lost, op.dtype(x)), 1)
    if mode == "nearest":
        return op.Where(op.IsNaN(lost), op.scalar(0.0, op.dtype(x)), found)
    return op.Add(found, lost)


_ALONE: dict[str, Callable[..., Any]] = {"TopK": _sorted, _SAMPLED: _point}
