"""Whether two runs stand at the same point with the same values, but for which tensors those are."""

from __future__ import annotations

from typing import Any

from onnxpert.capture.forking.joining import is_renamed
from onnxpert.capture.forking.traces import Asked, Expr, Look, Number, Step


def meet(one: Asked, other: Asked) -> bool:
    """Whether the rest of the second run is what the first does, with other tensors for its own."""
    if len(one.state) != len(other.state):
        return False
    names: dict[Expr, Expr] = {}  # symbols that the runs gave to the same thing
    partners: dict[Step, Step] = {}
    for (path, a), (other_path, b) in zip(one.state, other.state, strict=True):
        if path != other_path:
            return False
        if isinstance(a, Step) and isinstance(b, Step):
            # One tensor under two names that are two tensors in the other run: which is meant?
            if partners.setdefault(a, b) is not b or not alike(a.out, b.out, names):
                return False
        elif not alike(a, b, names):
            return False
    return True


def alike(a: Any, b: Any, names: dict[Expr, Expr]) -> bool:
    """The same but for the names of numbers that the data decide: one for one, as `names` has them."""
    if isinstance(a, Look) and isinstance(b, Look):
        return (
            a.dtype == b.dtype
            and len(a.sizes) == len(b.sizes)
            and all(_same(x, y, names) for x, y in zip(a.sizes, b.sizes, strict=True))
        )
    if isinstance(a, Number) and isinstance(b, Number):
        return a.kind is b.kind and _same(a.expr, b.expr, names)
    if isinstance(a, Step) or isinstance(b, Step):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(alike(x, y, names) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def _same(a: Expr, b: Expr, names: dict[Expr, Expr]) -> bool:
    if is_renamed(a, b):
        (x,), (y,) = a.free_symbols, b.free_symbols
        return names.setdefault(x, y) == y and list(names.values()).count(y) == 1
    return bool(a.xreplace(names) == b)
