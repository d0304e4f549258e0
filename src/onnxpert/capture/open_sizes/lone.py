"""Numbers that a model computes from sizes with tensors: `torch.ceil((length - self.kernel) / self.stride)`.

A lone number of that kind is a quotient of a size and a whole number. Kept as one, it is a size again
when Python or an operator takes it, and not something that only the data know; and what comes of
comparing two is a question about sizes. torch works with seven digits where there is a fraction: up
to sizes of sixteen million that comes to the same."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from onnxpert.capture.open_sizes.packed import KNOWN, known_number

_QUOTIENT = "_onnxpert_quotient"


@dataclass(frozen=True, slots=True)
class Quotient:
    """`top / bottom`, where the upper is a size or made of sizes."""

    top: Any
    bottom: int = 1

    def plus(self, other: Quotient, times: int = 1) -> Quotient:
        if self.bottom == other.bottom:
            return Quotient(self.top + times * other.top, self.bottom)
        top = self.top * other.bottom + times * other.top * self.bottom
        return Quotient(top, self.bottom * other.bottom)

    def times(self, other: Quotient) -> Quotient:
        return Quotient(self.top * other.top, self.bottom * other.bottom)

    def over(self, other: Quotient) -> Quotient | None:
        if type(other.top) is not int or other.top <= 0:
            return None
        return Quotient(self.top * other.bottom, self.bottom * other.top)

    def floor(self) -> Quotient:
        return self if self.bottom == 1 else Quotient(self.top // self.bottom)

    def ceil(self) -> Quotient:
        return self if self.bottom == 1 else Quotient((self.top + self.bottom - 1) // self.bottom)

    def cut(self) -> Quotient | None:
        """Without its fraction; below nothing that is not the next smaller number."""
        whole = not isinstance(self.top, torch.SymInt) or self.top.node.expr.is_nonnegative
        return self.floor() if whole else None


_Made = Quotient | None


def _sum(a: Quotient, b: Quotient) -> _Made:
    return a.plus(b)


def _difference(a: Quotient, b: Quotient) -> _Made:
    return a.plus(b, -1)


def _rounded(a: Quotient, b: Quotient, rounding: str = "floor") -> _Made:
    found = a.over(b)
    return None if found is None else found.floor() if rounding == "floor" else found.cut()


def _whole(a: Quotient) -> _Made:
    return a if a.bottom == 1 else None


_ONE: dict[str, Callable[[Quotient], _Made]] = {
    "aten::alias": lambda a: a,
    "aten::ceil": Quotient.ceil,
    "aten::clone": lambda a: a,
    "aten::detach": lambda a: a,
    "aten::floor": Quotient.floor,
    "aten::neg": lambda a: Quotient(-a.top, a.bottom),
}
_TWO: dict[str, Callable[[Quotient, Quotient], _Made]] = {
    "aten::add": _sum,
    "aten::sub": _difference,
    "aten::rsub": lambda a, b: b.plus(a, -1),
    "aten::mul": Quotient.times,
    "aten::div": Quotient.over,
    "aten::floor_divide": _rounded,
}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
    "aten::lt": operator.lt,
    "aten::le": operator.le,
    "aten::gt": operator.gt,
    "aten::ge": operator.ge,
}
_CASTS = ("aten::to", "aten::_to_copy")


def note_lone(
    func: Any, args: Any, kwargs: Mapping[str, Any], out: Any, known: Mapping[int, torch.Tensor]
) -> None:
    """Keeps with a lone number what it is, if it is made of sizes."""
    if not isinstance(out, torch.Tensor) or out.dim() or out.is_complex():
        return
    if func._schema.name in _COMPARED:
        _note_comparison(_COMPARED[func._schema.name], args, out, known)
        return
    made = _made(func, args, kwargs, out, known)
    if made is None:
        return
    setattr(out, _QUOTIENT, made)
    if made.bottom == 1 and not out.is_floating_point():
        setattr(out, KNOWN, made.top)


def _note_comparison(
    compare: Callable[[Any, Any], Any], args: Any, out: torch.Tensor, known: Mapping[int, Any]
) -> None:
    one, other = (_quotient(arg, known) for arg in args)
    if one is not None and other is not None and _varies(one, other):
        setattr(out, KNOWN, compare(one.top * other.bottom, other.top * one.bottom))


def forget_lone(value: torch.Tensor) -> None:
    """What was written to is no longer what it was made as."""
    for name in (_QUOTIENT, KNOWN):
        if hasattr(value, name):
            delattr(value, name)


def _made(
    func: Any, args: Any, kwargs: Mapping[str, Any], out: torch.Tensor, known: Mapping[int, Any]
) -> _Made:
    name = func._schema.name
    if name in _CASTS:
        value = _quotient(args[0], known)
        whole = out.is_floating_point() or out.dtype is torch.int64
        return (
            value if value is None or out.is_floating_point() else _whole(value) if whole else None
        )
    if name in _ONE and len(args) == 1:
        value = _quotient(args[0], known)
        return None if value is None else _ONE[name](value)
    if name not in _TWO or len(args) != 2 or kwargs.keys() - {"rounding_mode"}:
        return None
    one, other = (_quotient(arg, known) for arg in args)
    if one is None or other is None or not _varies(one, other):
        return None
    rounding = kwargs.get("rounding_mode")
    return _TWO[name](one, other) if rounding is None else _rounded(one, other, rounding)


def _varies(*values: Quotient) -> bool:
    return any(isinstance(value.top, torch.SymInt) for value in values)


def _quotient(value: Any, known: Mapping[int, torch.Tensor]) -> _Made:
    if isinstance(value, torch.Tensor):
        held = getattr(value, _QUOTIENT, None)
        if held is None and isinstance(size := known_number(value), torch.SymInt):
            held = Quotient(size)
        real = known.get(id(value))
        if held is not None or real is None or real.dim():
            return held
        with unset_fake_temporarily():
            value = real.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return Quotient(value) if type(value) is int or isinstance(value, torch.SymInt) else None
