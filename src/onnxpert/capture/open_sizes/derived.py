"""Sizes that went through fractions again and again, or that add up what the data decide in many
places: what is made in such a size goes on with a size of its own.

torch reasons about every expression it meets; with fractions in them, or a hundred terms, it does so
for minutes or stumbles. The file reads such a size off the value that has it, so nothing needs to be
known of it but how it came about, which assumptions about it are said in. `create_symbol` and
`create_symintnode` are torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import functools
from typing import Any

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import DimDynamic, free_unbacked_symbols

from onnxpert.capture.reasoning import Expr, Frugal, hint_of

_SMALLEST = 2  # torch takes what is less for a constant
_MOST_UNKNOWN = 8  # numbers of the data's in one size
_MOST_CALLED = 3  # functions in one size, some of them of fractions: `int(n / 2)` has two
_FRACTIONS = frozenset(
    {
        "ToFloat",
        "IntTrueDiv",
        "FloatTrueDiv",
        "TruncToInt",
        "CeilToInt",
        "FloorToInt",
        "RoundToInt",
        "FloatPow",
        "TruncToFloat",
        "RoundDecimal",
    }
)


def with_own_sizes(out: Any, environment: Any) -> Any:
    """The result of a call in memory of its own, with short sizes in place of long ones."""
    if not isinstance(environment, Frugal):
        return out
    if isinstance(out, (list, tuple)):
        return type(out)(with_own_sizes(each, environment) for each in out)
    if not isinstance(out, FakeTensor) or not any(map(_is_long, out.shape)):
        return out
    sizes = [_short(size, environment) if _is_long(size) else size for size in out.shape]
    if any(free_unbacked_symbols(size) for size in sizes):
        # To remember the outcome of a call at such sizes takes torch longer than to work it out.
        out.fake_mode.cache_enabled = False
    return out.new_empty(sizes)


def _is_long(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and _is_long_expression(size.node.expr)


@functools.lru_cache(4096)
def _is_long_expression(expr: Expr) -> bool:
    if len(free_unbacked_symbols(expr)) > _MOST_UNKNOWN:
        return True
    called = [type(part) for part in sympy.preorder_traversal(expr) if part.is_Function]
    fractions = any(kind.__name__ in _FRACTIONS for kind in called)
    return fractions and len(called) > _MOST_CALLED


def _short(size: Any, environment: Frugal) -> Any:
    expr, hint = size.node.expr, hint_of(size)
    if hint is not None and hint < _SMALLEST:
        return size
    for symbol, meant in environment.definitions.items():
        if meant == expr:
            return _size(symbol, hint, environment)
    if hint is None:
        made = environment.create_unbacked_symint()
        torch.fx.experimental.symbolic_shapes._constrain_range_for_size(made)
        environment.definitions[made.node.expr] = expr
        return made
    source = ConstantSource(f"derived_{len(environment.definitions)}")
    symbol = environment.create_symbol(hint, source, DimDynamic.DYNAMIC, constraint_dim=None)
    environment.definitions[symbol] = expr
    return _size(symbol, hint, environment)


def _size(symbol: Expr, hint: int | None, environment: Frugal) -> Any:
    return environment.create_symintnode(symbol, hint=hint)
