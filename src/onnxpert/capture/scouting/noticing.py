"""Numbers of Python's own, given where a symbol will not do, that still tell what is decided by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from torch.utils import _pytree as pytree

Decide: TypeAlias = Callable[[bool], bool]
_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__bool__")
_ARITHMETIC = (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__",
    "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__neg__", "__abs__", "__round__",
)  # fmt: skip


def noticing(given: Any, decide: Decide) -> Any:
    """The same, a number or a list of them; `decide` is asked what each comparison is to give."""
    return pytree.tree_map(lambda each: _noticed(each, decide), given)


def _noticed(value: Any, decide: Decide) -> Any:
    kind = _KINDS.get(type(value))
    if kind is None:
        return value
    number = kind(value)
    number.decide = decide
    return number


def _comparing(plain: Callable[..., Any]) -> Callable[..., Any]:
    def compare(number: Any, *other: Any) -> Any:
        found = plain(number, *other)
        return found if found is NotImplemented else number.decide(found)

    return compare


def _computing(plain: Callable[..., Any]) -> Callable[..., Any]:
    def compute(number: Any, *other: Any) -> Any:
        return _noticed(plain(number, *other), number.decide)

    return compute


def _kind(plain: type) -> Any:
    methods = {name: _comparing(getattr(plain, name)) for name in _COMPARISONS}
    methods |= {name: _computing(getattr(plain, name)) for name in _ARITHMETIC}
    methods["__hash__"] = plain.__hash__
    methods["__reduce__"] = lambda number: (plain, (plain(number),))
    return type(plain.__name__, (plain,), methods)


_KINDS = {plain: _kind(plain) for plain in (int, float)}
