"""Whole numbers beyond 32 bits, in operators that ONNX Runtime computes of fewer.

Its `Min`, `Max`, `Clip`, `Sign`, `ReduceMin` and `ReduceMax` of int64 go wrong where the upper halves of
two numbers are equal and the lower ones lie on both sides of 2**31 (times, 64-bit hashes); its
`ReduceSum`, and `Mod` with the sign of the first, go by way of a double, which has 53 bits. Said in
others it takes more nodes, so that a file has it only where such numbers are in sight."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import onnx_ir as ir
import torch
from torch._subclasses.fake_tensor import FakeTensor

from onnxpert.core.calls import calls
from onnxpert.core.types import Captured

_HALF = 2**31
_WHOLE = 2**32
_NO_END = 2**62  # from here on a number in a call means "to the end"


def in_sight(captured: Captured) -> bool:
    """Whether an input, a weight or a number that the model was written with is such a number."""
    loaded = captured.loaded
    given = [leaf.value for leaf in loaded.leaves] if loaded is not None else []
    held = [entry.tensor for entry in captured.inputs]
    return any(map(_is_wide, (*given, *held))) or any(map(_is_wide, _numbers(captured.root)))


def _numbers(root: Any) -> Iterator[object]:
    for call in calls(root):
        for number in (*call.args, *call.kwargs.values()):
            yield from number if isinstance(number, list | tuple) else (number,)


def _is_wide(value: object) -> bool:
    if type(value) is int:
        return _HALF <= abs(value) < _NO_END
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.int64:
        return False
    if value.layout is not torch.strided or not value.numel():
        return False
    if value.is_meta or isinstance(value, FakeTensor):  # whose values nobody has yet
        return False
    least, most = value.aminmax()
    return int(least) < -_HALF or int(most) >= _HALF


def exact(op: Any, op_type: str, *inputs: Any, **attributes: Any) -> Callable[..., Any] | None:
    """How to write an operator so that it is right for such numbers; None: as it is."""
    first = next((value for value in inputs if isinstance(value, ir.Value)), None)
    if not op.shared.wide_integers or first is None or op.dtype(first) is not torch.int64:
        return None
    if op_type == "Mod" and not attributes.get("fmod"):
        return None
    return _EXACT.get(op_type)


def _chosen(test: str, op: Any, *values: Any) -> Any:
    return functools.reduce(lambda a, b: op.Where(op.emit(test, a, b), a, b), values)


def _clipped(op: Any, x: ir.Value, low: Any = None, high: Any = None) -> Any:
    bounded = x if low is None else op.Max(x, low)
    return bounded if high is None else op.Min(bounded, high)


def _sign(op: Any, x: ir.Value) -> Any:
    more, less = (op.cast(op.emit(test, x, 0), torch.int64) for test in ("Greater", "Less"))
    return op.Sub(more, less)


def _remainder(op: Any, x: ir.Value, by: Any, **_: Any) -> Any:
    return op.Sub(x, op.Mul(op.Div(x, by), by))


def _halves(op: Any, x: ir.Value) -> tuple[Any, Any]:
    """The upper half, and the lower one, which is never negative."""
    lower = op.Mod(x, _WHOLE)
    return op.Div(op.Sub(x, lower), _WHOLE), lower


def _extreme(name: str, op: Any, x: ir.Value, *axes: Any, **attributes: Any) -> Any:
    """Of the upper halves, and of the lower ones among those that have it; each fits into 32 bits."""

    def of(values: Any, **other: Any) -> Any:
        return op.emit(name, values, *axes, _as_it_is=True, **{**attributes, **other})

    upper, lower = _halves(op, x)
    never = -_HALF if name == "ReduceMax" else _HALF - 1
    among = op.Equal(upper, of(upper, keepdims=1))
    found = of(op.Where(among, op.Sub(lower, _HALF), never))
    return op.Add(op.Mul(of(upper), _WHOLE), op.Add(found, _HALF))


def _sum(op: Any, x: ir.Value, *axes: Any, **attributes: Any) -> Any:
    upper, lower = (
        op.emit("ReduceSum", half, *axes, _as_it_is=True, **attributes) for half in _halves(op, x)
    )
    return op.Add(op.Mul(upper, _WHOLE), lower)


_EXACT: dict[str, Callable[..., Any]] = {
    "Min": functools.partial(_chosen, "Less"),
    "Max": functools.partial(_chosen, "Greater"),
    "Clip": _clipped,
    "Sign": _sign,
    "Mod": _remainder,
    "ReduceMin": functools.partial(_extreme, "ReduceMin"),
    "ReduceMax": functools.partial(_extreme, "ReduceMax"),
    "ReduceSum": _sum,
}
