"""`float()`, `int()` and `math` on numbers that only a run of the file will know.

Python's own insist on a number there and then. In the modules that need it, and only while a model is
recorded, these names stand for versions that leave a symbol a symbol."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch

from onnxpert.capture.kinds import own_type
from onnxpert.capture.surrounding.catching import ask

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


class _Soft(type):
    """Passes for the built-in type in `isinstance`."""

    plain: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(own_type(instance), cls.plain)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.plain)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.plain

    def __hash__(cls) -> int:
        return hash(cls.plain)


class SoftFloat(metaclass=_Soft):
    plain = builtins.float

    def __new__(cls, value: Any = 0.0) -> Any:
        value = _item(value)
        return torch.sym_float(value) if isinstance(value, _SYMBOLS) else float(value)  # type: ignore[no-untyped-call]


class SoftInt(metaclass=_Soft):
    plain = builtins.int

    def __new__(cls, value: Any = 0, *base: Any) -> Any:
        value = _item(value)
        if isinstance(value, torch.SymBool):
            return int(value)
        return torch.sym_int(value) if isinstance(value, _SYMBOLS) else int(value, *base)  # type: ignore[no-untyped-call]


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


def _by_tensor(ask: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], bool]:
    def answer(value: Any) -> bool:
        return bool(ask(torch.scalar_tensor(value, dtype=torch.float64)))

    return answer


def _computed(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """What torch's function of that name makes of a number as exact as Python's."""

    def number(*values: Any) -> Any:
        given = [torch.scalar_tensor(value, dtype=torch.float64) for value in values]
        return function(*given).item()

    return number


def _log(value: Any, *base: Any) -> Any:
    ask(lambda: value > 0, ValueError("math domain error"))
    found = _computed(torch.log)(value)
    return found / _log(*base) if base else found


def _sqrt(value: Any) -> Any:
    ask(lambda: value >= 0, ValueError("math domain error"))
    return torch._sym_sqrt(value)  # type: ignore[attr-defined]


_BY_TORCH = (
    "exp", "expm1", "log1p", "log2", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "atan2", "copysign", "hypot", "pow", "fmod", "erf",
)  # fmt: skip
_MATH: dict[str, Callable[..., Any]] = {
    **{name: _computed(getattr(torch, name)) for name in _BY_TORCH},
    "fabs": _computed(torch.abs),
    "degrees": _computed(torch.rad2deg),
    "radians": _computed(torch.deg2rad),
    "log": _log,
    "isnan": _by_tensor(torch.isnan),
    "isinf": _by_tensor(torch.isinf),
    "isfinite": _by_tensor(torch.isfinite),
    **{name: getattr(torch, f"_sym_{name}") for name in ("cos", "sin", "tanh")},
    "sqrt": _sqrt,
}


@contextmanager
def softened(homes: Iterable[dict[str, Any]]) -> Iterator[None]:
    """While on, the names mean the soft versions in those modules, and everywhere in `math`."""
    homes = list(homes)
    with ExitStack() as stack:
        for home in homes:
            stack.enter_context(_named(home, {"float": SoftFloat, "int": SoftInt}))
        if homes:
            for name, soft in _MATH.items():
                plain = getattr(math, name)
                stack.enter_context(patch.object(math, name, _either(plain, soft)))
                for home in homes:  # `from math import sqrt`
                    for alias, value in list(home.items()):
                        if value is plain:
                            stack.enter_context(_named(home, {alias: getattr(math, name)}))
        yield


@contextmanager
def _named(home: dict[str, Any], meant: dict[str, Any]) -> Iterator[None]:
    """Those names and no others: what else comes into the module meanwhile is there to stay."""
    before = {name: home[name] for name in meant if name in home}
    home.update(meant)
    try:
        yield
    finally:
        for name in meant:
            home.pop(name, None)
        home.update(before)


def _either(plain: Callable[..., Any], soft: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        values = [_item(value) for value in given]
        open_ = any(isinstance(value, _SYMBOLS) for value in values)
        return (soft if open_ else plain)(*values)

    return call
