"""TorchScript's own small language: numbers, lists, strings and None, as Python has them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

# TorchScript writes a dtype as its place in this list.
DTYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
    torch.float64, torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8,
    torch.quint8, torch.qint32, torch.bfloat16,
)  # fmt: skip


class NotUnderstoodError(NotImplementedError):
    """A node that is not read here: torch's own interpreter may know it."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"TorchScript's {kind} is not read")


def _same(value: Any) -> Any:
    return value


def _raise(message: Any, *_: Any) -> Any:
    raise RuntimeError(str(message).removeprefix("AssertionError: "))


def _dtype(value: torch.Tensor) -> int:
    return DTYPES.index(value.dtype)


def _size(value: torch.Tensor, *dim: int) -> Any:
    return value.shape[dim[0]] if dim else list(value.shape)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


def _to_int(value: Any) -> Any:
    value = _number(value)
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return torch.sym_int(value)  # type: ignore[no-untyped-call]
    return int(value)


def _to_float(value: Any) -> Any:
    value = _number(value)
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return torch.sym_float(value)  # type: ignore[no-untyped-call]
    return float(value)


def _convert(value: Any, *rest: Any) -> Any:
    """`.to(dtype)` of a number that stands for a tensor."""
    wanted = rest[0] if rest else None
    if type(wanted) is int and DTYPES[wanted].is_floating_point:
        return _to_float(value)
    return value


def _get(container: Any, key: Any, *default: Any) -> Any:
    if isinstance(container, dict) and default:
        return container.get(key, *default)
    return container[key]


def _append(items: list[Any], value: Any) -> list[Any]:
    items.append(value)
    return items


def _extend(items: list[Any], others: list[Any]) -> None:
    items.extend(others)


def _put(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def _slice(items: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return items[start:end:step]


def _true_divide(a: Any, b: Any, *rounding: Any) -> Any:
    if rounding and rounding[0] == "floor":
        return a // b
    return math.trunc(a / b) if rounding and rounding[0] == "trunc" else a / b


def _least(a: Any, *b: Any) -> Any:
    return torch.sym_min(a, b[0]) if b else min(a)  # type: ignore[no-untyped-call]


def _largest(a: Any, *b: Any) -> Any:
    return torch.sym_max(a, b[0]) if b else max(a)  # type: ignore[no-untyped-call]


def _format(text: str, *values: Any) -> str:
    return text.format(*values)


# Nodes that mean this whatever they are given.
BUILTINS: dict[str, Callable[..., Any]] = {
    "prim::NumToTensor": _same,
    "prim::unchecked_cast": _same,
    "prim::unchecked_unwrap_optional": _same,
    "aten::_unwrap_optional": _same,
    "prim::RaiseException": _raise,
    "prim::TupleIndex": operator.getitem,
    "prim::TupleSlice": _slice,
    "prim::dtype": _dtype,
    "prim::device": lambda value: value.device,
    "prim::layout": lambda value: value.layout,
    "prim::is_cuda": lambda value: value.is_cuda,
    "prim::shape": _size,
    "prim::min": _least,
    "prim::max": _largest,
    "prim::requires_grad": lambda value: False,
    "aten::size": _size,
    "aten::dim": lambda value: value.dim(),
    "aten::len": len,
    "aten::numel": lambda value: value.numel(),
    "aten::is_floating_point": lambda value: value.is_floating_point(),
    "aten::Int": _to_int,
    "aten::IntImplicit": _to_int,
    "aten::ScalarImplicit": _number,
    "aten::Float": _to_float,
    "aten::FloatImplicit": _to_float,
    "aten::Bool": lambda value: value if isinstance(value, torch.SymBool) else bool(value),
    "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::__not__": operator.not_,
    "aten::append": _append,
    "aten::extend": _extend,
    "aten::insert": lambda items, place, value: items.insert(place, value),
    "aten::pop": lambda items, *place: items.pop(*place),
    "aten::reverse": lambda items: items.reverse(),
    "aten::clear": lambda items: items.clear(),
    "aten::copy": lambda items: items.copy(),
    "aten::keys": lambda items: list(items.keys()),
    "aten::values": lambda items: list(items.values()),
    "aten::items": lambda items: list(items.items()),
    "aten::_set_item": _put,
    "aten::__contains__": operator.contains,
    "aten::__getitem__": _get,
    "aten::get": lambda items, key, *default: items.get(key, *default),
    "aten::format": _format,
    "aten::str": str,
    "aten::__range_length": lambda start, stop, step: len(range(start, stop, step)),
    "aten::__derive_index": lambda index, start, step: start + index * step,
}

# Operators by name, where every argument is a number, a string, or a list without tensors.
NUMBERS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha=1: a + b if alpha == 1 else a + alpha * b,
    "sub": lambda a, b, alpha=1: a - b if alpha == 1 else a - alpha * b,
    "rsub": lambda a, b, alpha=1: b - alpha * a,
    "mul": operator.mul,
    "div": _true_divide,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "mod": operator.mod,
    "neg": operator.neg,
    "abs": abs,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__and__": lambda a, b: a and b if isinstance(a, bool) else a & b,
    "__or__": lambda a, b: a or b if isinstance(a, bool) else a | b,
    "__xor__": operator.xor,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sqrt": lambda value: (
        torch.sym_sqrt(value) if isinstance(value, torch.SymInt) else math.sqrt(value)
    ),
    "log": math.log,
    "exp": math.exp,
    "slice": _slice,
    "index": lambda items, value: items.index(value),
    "list": list,
    "to": _convert,
    "detach": _same,
    "clone": lambda value, *_: value,
    "type_as": lambda value, _: value,
}
