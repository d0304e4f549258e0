"""Shapes of views whose sizes have quotients in them (`h // 2`), without asking torch to solve them.

A view is worked out by the example: whether it is one, and whether the sizes agree. That they agree
becomes an assumption like any other. `create_symintnode` is torch's own; tried on 2.13 and 2.15."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import sympy
import torch
from torch._prims_common import is_contiguous_or_false
from torch.fx.experimental.symbolic_shapes import _constrain_range_for_size
from torch.utils._sympy.functions import FloorDiv, Max, Mod

from onnxpert.capture.reasoning import Frugal, expression, has_quotient, hint_of

Tensor = torch.Tensor
Expr: TypeAlias = Any  # sympy.Expr


def viewed(input: Tensor, size: Sequence[Any]) -> Any:
    """aten.view; NotImplemented where there are no quotients, or where torch has to say no."""
    return _reshaped(input, list(size), copies=False)


def viewed_as(input: Tensor, other: Tensor) -> Any:
    return _reshaped(input, list(other.shape), copies=False)


def reshaped(input: Tensor, shape: Sequence[Any]) -> Any:
    return _reshaped(input, list(shape), copies=True)


def flattened(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    rank = input.dim()
    if not rank:
        return NotImplemented
    start, end = start_dim % rank, end_dim % rank
    if start >= end:
        return NotImplemented
    shape = input.shape
    joined = math.prod(shape[start : end + 1])
    return _reshaped(input, [*shape[:start], joined, *shape[end + 1 :]], copies=True)


def unflattened(input: Tensor, dim: int, sizes: Sequence[Any]) -> Any:
    rank = input.dim()
    if not -rank <= dim < rank:
        return NotImplemented
    at = dim % rank
    inner = _completed(list(sizes), [input.shape[at]])
    if inner is None:
        return NotImplemented
    return _reshaped(input, [*input.shape[:at], *inner, *input.shape[at + 1 :]], copies=False)


def _reshaped(input: Tensor, sizes: list[Any], *, copies: bool) -> Any:
    old = list(input.shape)
    if any(hint_of(size) is None for size in (*old, *sizes)):
        return _of_data(input, sizes, copies=copies)
    has_one = any(has_quotient(expression(size)) for size in (*old, *sizes))
    if not has_one and not _leaves_one(old, sizes):
        return _in_one_piece(input, sizes)
    new = _completed(sizes, old)
    if new is None:
        return NotImplemented
    # To remember the outcome of a call at such sizes takes torch longer than to work it out again.
    input.fake_mode.cache_enabled = False  # type: ignore[attr-defined]
    if _is_contiguous(input):
        return input.as_strided(new, _strides(new), input.storage_offset())
    strides = _cut_anew(input, new)
    if strides is not None:
        return input.as_strided(new, strides, input.storage_offset())
    return input.new_empty(new) if copies else NotImplemented


def _leaves_one(old: Sequence[Any], sizes: Sequence[Any]) -> bool:
    """Whether the size that was left open is a quotient: of as many elements as there are for some
    sizes only (`x.view(-1, 10)`). torch would make quotients of quotients of it."""
    at = [place for place, size in enumerate(sizes) if hint_of(size) == -1]
    if len(at) != 1:
        return False
    whole = sympy.Mul(*map(expression, old))
    rest = sympy.Mul(*(expression(size) for place, size in enumerate(sizes) if place != at[0]))
    if rest == 0 or not has_quotient(_quotient(whole, rest)):
        return False
    environment = next(
        (size.node.shape_env for size in (*old, *sizes) if not isinstance(size, int)), None
    )
    if isinstance(environment, Frugal):
        environment.assume(sympy.Eq(Mod(whole, rest), 0, evaluate=False))
    return True


def _in_one_piece(input: Tensor, sizes: list[Any]) -> Any:
    """A view of what is seen to lie in one piece, at as many elements: where old and new axes share
    no border but the ends, torch would take for granted that they do."""
    if all(isinstance(size, int) for size in input.shape):
        return NotImplemented
    whole, wanted = (sympy.Mul(*map(expression, shape)) for shape in (input.shape, sizes))
    if sympy.expand(whole - wanted) != 0:
        return NotImplemented
    for stride, step in zip(input.stride(), _strides(input.shape), strict=True):
        if sympy.expand(expression(stride) - expression(step)) != 0:
            return NotImplemented
    return input.as_strided(sizes, _strides(sizes), input.storage_offset())


def _missing(old: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """The size that was left open, where the data decide others and nothing tells that these divide
    what there is: `table[:h, :w].reshape(h * w, -1)`. None where torch finds it by itself.

    It is a number that a run knows; that it is a whole one, the runtime asks as torch does."""
    at = [place for place, size in enumerate(sizes) if type(size) is int and size == -1]
    if len(at) != 1:
        return None
    whole = sympy.Mul(*map(expression, old))
    rest = sympy.Mul(*(expression(size) for place, size in enumerate(sizes) if place != at[0]))
    environment = next(size.node.shape_env for size in (*old, *sizes) if not isinstance(size, int))
    divides = not rest.free_symbols or not isinstance(_quotient(whole, rest), FloorDiv)
    if divides or not isinstance(environment, Frugal):
        return None
    size = environment.create_unbacked_symint()
    _constrain_range_for_size(size)
    environment.definitions[size.node.expr] = FloorDiv(whole, rest, evaluate=False)
    return size


def _of_data(input: Tensor, sizes: list[Any], *, copies: bool) -> Any:
    missing = _missing(input.shape, sizes)
    if missing is None:
        return _cut_by_data(input, sizes)
    new = [missing if type(size) is int and size == -1 else size for size in sizes]
    if is_contiguous_or_false(input):
        return input.as_strided(new, _strides(new), input.storage_offset())
    return input.new_empty(new) if copies else NotImplemented


def _cut_by_data(input: Tensor, new: list[Any]) -> Any:
    """A view at sizes that only the data know, where the expressions say that it is one; what lies
    in one piece torch can tell by itself."""
    # How many elements a run has, the stride of all of it, and that of its last axis.
    runs: list[tuple[Expr, Expr, Any]] = []
    for size, stride in zip(reversed(input.shape), reversed(input.stride()), strict=True):
        length, step = expression(size), _bare(expression(stride))
        if runs and step == runs[-1][1]:
            runs[-1] = (runs[-1][0] * length, sympy.expand(step * length), runs[-1][2])
        elif length != 1:
            runs.append((length, sympy.expand(step * length), stride))
    left, strides = list(new), list[Any]()
    for length, _, narrowest in runs if len(runs) > 1 else ():
        count, step = sympy.Integer(1), narrowest
        while left and sympy.expand(count - length) != 0:
            size = left.pop()
            strides.append(step)
            step, count = step * size, count * expression(size)
        if sympy.expand(count - length) != 0:
            return NotImplemented
    if left or len(runs) < 2:
        return NotImplemented
    return input.as_strided(new, strides[::-1], input.storage_offset())


def _bare(stride: Expr) -> Expr:
    """As it is where there are elements: torch has strides of at least one for what is empty."""
    whole = stride.replace(
        lambda part: isinstance(part, (Max, sympy.Max)) and sympy.Integer(1) in part.args,
        lambda part: type(part)(*(one for one in part.args if one != 1)),
    )
    return sympy.expand(whole)


def _completed(sizes: list[Any], old: Sequence[Any]) -> list[Any] | None:
    """The sizes with the one that was left open; None where they cannot hold the same elements."""
    have = [hint_of(size) for size in old]
    want = [hint_of(size) for size in sizes]
    environment = next((s.node.shape_env for s in (*old, *sizes) if not isinstance(s, int)), None)
    if None in have or None in want or not isinstance(environment, Frugal):
        return None
    count, known = math.prod(have), math.prod(size for size in want if size != -1)  # type: ignore[arg-type,misc]
    whole = sympy.Mul(*map(expression, old))
    if want.count(-1) == 1:
        if not known or count % known:
            return None
        at = want.index(-1)
        rest = sympy.Mul(*(expression(s) for i, s in enumerate(sizes) if i != at))
        found = _quotient(whole, rest)
        return [*sizes[:at], _size(found, count // known, environment), *sizes[at + 1 :]]
    if count != known or -1 in want:
        return None
    product = sympy.Mul(*map(expression, sizes))
    if product != whole:
        environment.assume(sympy.Eq(whole, product, evaluate=False))
    return sizes


def _quotient(whole: Expr, rest: Expr) -> Expr:
    """One product by another, what both have taken out first."""
    above, below = _factors(whole), _factors(rest)
    shared = above & below
    number, divisor = whole.as_coeff_Mul()[0], rest.as_coeff_Mul()[0]
    top = sympy.Mul(number, *(above - shared).elements())
    bottom = sympy.Mul(divisor, *(below - shared).elements())
    if bottom.is_Integer and number % bottom == 0:
        return top / bottom
    common = sympy.gcd(number, divisor)
    return FloorDiv(top / common, bottom / common, evaluate=False)


def _factors(product: Expr) -> Counter[Expr]:
    found: Counter[Expr] = Counter()
    for factor in sympy.Mul.make_args(product.as_coeff_Mul()[1]):
        base, exponent = factor.as_base_exp()
        if exponent.is_Integer and exponent > 0:
            found[base] += int(exponent)
        elif factor != 1:
            found[factor] += 1
    return found


def _size(expr: Expr, hint: int, environment: Any) -> Any:
    if expr.is_Integer:
        return int(expr)
    return environment.create_symintnode(expr, hint=hint)


def _strides(sizes: Sequence[Any]) -> list[Any]:
    behind = itertools.accumulate(reversed(sizes[1:]), lambda a, b: a * b, initial=1)
    return list(reversed(list(behind)))


def _is_contiguous(input: Tensor) -> bool:
    sizes, strides = _hints(input.shape), _hints(input.stride())
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _cut_anew(input: Tensor, new: Sequence[Any]) -> list[Any] | None:
    """The strides of a view, which is one as torch decides it: runs of axes that lie one behind the
    other can be cut anew."""
    left = list(new)
    strides: list[Any] = []
    for length, narrowest in _runs(input):
        count, step = 1, narrowest
        while left and (count < length or hint_of(left[-1]) == 1):
            size = left.pop()
            strides.append(step)
            step, count = step * size, count * (hint_of(size) or 0)
        if count != length:
            return None
    return None if left else strides[::-1]


def _runs(input: Tensor) -> list[tuple[int, Any]]:
    """From the last axis on: how many elements each run has, and the stride of its last axis."""
    runs: list[tuple[int, Any]] = []
    for size, stride in zip(_hints(input.shape)[::-1], input.stride()[::-1], strict=True):
        if size == 1:
            continue
        if runs and hint_of(stride) == runs[-1][0] * (hint_of(runs[-1][1]) or 0):
            runs[-1] = (runs[-1][0] * size, runs[-1][1])
        else:
            runs.append((size, stride))
    return runs


def _hints(sizes: Sequence[Any]) -> list[int]:
    return [hint_of(size) or 0 for size in sizes]
