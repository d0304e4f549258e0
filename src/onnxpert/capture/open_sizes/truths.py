"""Truth values and whole numbers that only a run of the file knows, where Python computes with them.

To Python a truth is a number, and torch's symbol of one is not: `a != b`, `-flag`, `flag / 2`, `rows[flag]`.
Of whole numbers torch's symbols lack `~k`, `k.bit_length()` and what makes them numbers among numbers."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxpert.capture.open_sizes.numbers import size_bit_length
from onnxpert.core.source import Owner, ownership

_sym: Any = torch  # whose functions of symbols have no types
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_COMPARED = ("lt", "le", "gt", "ge")
_COMPUTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift")
_BY_BITS = ("and", "or", "xor")
_ALONE = ("neg", "pos", "abs", "invert")
_BITS = 63


def _number(value: Any) -> Any:
    """True is 1."""
    if isinstance(value, torch.SymBool):
        return _sym.sym_ite(value, 1, 0)
    return int(value) if isinstance(value, bool) else value


def _of_numbers(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(operator, f"__{name}__")

    def computed(*values: Any) -> Any:
        if not all(isinstance(one, (int, float, *_SYMBOLS)) for one in values):
            return NotImplemented
        return function(*map(_number, values))

    return computed


def _turned(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda symbol, other: function(other, symbol)


def _same(symbol: Any, other: Any) -> Any:
    if isinstance(other, bool):
        return symbol if other else _sym.sym_not(symbol)
    return _of_numbers("eq")(symbol, other)


def _other(symbol: Any, other: Any) -> Any:
    if isinstance(other, bool):
        return _sym.sym_not(symbol) if other else symbol
    return _of_numbers("ne")(symbol, other)


def _by_bits(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Of two truths a truth, of which torch has two of three; of others a number."""
    of_numbers = _of_numbers(name)

    def computed(symbol: Any, other: Any) -> Any:
        if not isinstance(other, (bool, torch.SymBool)):
            return of_numbers(symbol, other)
        if name == "xor":
            return _other(symbol, other)
        if isinstance(other, bool):
            return symbol if other == (name == "and") else other
        return plain(symbol, other)

    return computed


def _with_truths(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`k & flag`."""
    return lambda symbol, other: plain(symbol, _number(other))


def _bit_length(symbol: Any) -> Any:
    """Of a size it is one; what the data decide may be negative, and is compared with every power."""
    if not free_unbacked_symbols(symbol.node.expr):
        return size_bit_length(symbol)
    powers = 2 ** torch.arange(_BITS)
    return (torch.scalar_tensor(symbol, dtype=torch.int64).abs() >= powers).sum().item()


def _rounded(symbol: Any, digits: int | None = None) -> Any:
    if digits is None or digits >= 0:
        return symbol
    unit = 10**-digits
    whole = torch.round(torch.scalar_tensor(symbol, dtype=torch.float64) / unit)  # half to even
    return (whole.to(torch.int64) * unit).item()


def _unlike_itself(plain: Callable[..., Any], *, differs: bool) -> Callable[..., Any]:
    """`v != v` asks whether a number is NaN, and of a symbol the answer would always be no."""

    def compared(symbol: Any, other: Any) -> Any:
        same = isinstance(other, torch.SymFloat) and other.node.expr == symbol.node.expr
        if not same or not free_unbacked_symbols(symbol.node.expr):
            return plain(symbol, other)
        is_nan = torch.scalar_tensor(symbol, dtype=torch.float64).isnan()
        return is_nan if differs else ~is_nan

    return compared


def _hashed(plain: Callable[[Any], int]) -> Callable[[Any], int]:
    def hashed(symbol: Any) -> int:
        asked = ownership(sys._getframe(1).f_code.co_filename) >= Owner.LIBRARY
        return hash(bool(symbol)) if asked else plain(symbol)

    return hashed


def _additions() -> Iterator[tuple[Any, str, Any]]:
    truth, whole, broken = torch.SymBool, torch.SymInt, torch.SymFloat
    yield broken, "__eq__", _unlike_itself(broken.__eq__, differs=False)
    yield broken, "__ne__", _unlike_itself(broken.__ne__, differs=True)
    for name in (*_COMPARED, *_COMPUTED, *_ALONE):
        yield truth, f"__{name}__", _of_numbers(name)
    for name in _COMPUTED:
        yield truth, f"__r{name}__", _turned(_of_numbers(name))
    for name in _BY_BITS:
        computed = _by_bits(name, getattr(truth, f"__{name}__", lambda *_: NotImplemented))
        for method in (f"__{name}__", f"__r{name}__"):
            yield truth, method, computed
            yield whole, method, _with_truths(getattr(whole, method))
    yield truth, "__eq__", _same
    yield truth, "__ne__", _other
    yield truth, "__hash__", _hashed(truth.__hash__)
    yield truth, "__index__", lambda symbol: int(bool(symbol))
    yield truth, "__round__", _number
    yield whole, "__invert__", lambda symbol: -symbol - 1
    yield whole, "__round__", _rounded
    yield whole, "bit_length", _bit_length
    for kind in (truth, whole):
        yield kind, "real", property(_number)
        yield kind, "numerator", property(_number)
        yield kind, "imag", property(lambda _: 0)
        yield kind, "denominator", property(lambda _: 1)


@contextmanager
def truths_as_numbers() -> Iterator[None]:
    """While on, symbols do what Python's own truths and whole numbers do."""
    with ExitStack() as stack:
        for kind, name, method in _additions():
            stack.enter_context(patch.object(kind, name, method, create=True))
        yield
