"""Sizes just beyond what the capture assumed: where a model may do something else than its file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from onnxpert.core.size_conditions import holding, holds
from onnxpert.core.types import Boundary, Captured, Guard
from onnxpert.lower.symbols import Expr

_UNSAID = ("ToFloat", "Identity")
_SAID = {"TruncToInt": "int", "OpaqueUnaryFn_": "", "FloorToInt": "floor", "CeilToInt": "ceil"}
_MOST_TRIED = (8, 4, 4)  # of the smallest, and so many more of the nearest, and by other sizes
_MOST_PAIRS = 6
_MOST = 48
_FAR = 1024  # from the example's size: so far one is looked for at which it does not hold
_LARGEST = 4096  # a size beyond this is tried near the example's only: the run may cost a lot


@dataclass(frozen=True, slots=True)
class _Assumption:
    expr: Expr
    guard: Guard
    hints: Mapping[Expr, int]  # the sizes at which it was made
    of_example: bool  # whether those are the example's; else they are of what takes a branch


def boundaries(
    captured: Captured, names: Mapping[Expr, str], environment: Any
) -> tuple[Boundary, ...]:
    """For each assumption on named sizes, the smallest sizes at which it does not hold, and the nearest
    to the example's: a model that refuses the one may take the other.

    Two with the same sizes are tried once, and of many only the first."""
    assumed = list(itertools.islice(_assumptions(captured, names, environment), _MOST))
    violations: list[list[dict[str, int]]] = [[] for _ in assumed]
    tried: set[tuple[tuple[str, int], ...]] = set()
    passes = (_smallest, _nearest, _by_others)
    for most, violated in zip(itertools.accumulate(_MOST_TRIED), passes, strict=True):
        for own, one in zip(violations, assumed, strict=True):
            for sizes in violated(one) if len(tried) < most else ():
                named = {names[symbol]: size for symbol, size in sizes.items()}
                key = tuple(sorted(named.items()))
                if key not in tried and len(tried) < most:
                    tried.add(key)
                    own.append(named)
    if captured.branches:
        _add_pairs(violations)
    return tuple(
        Boundary(sizes, told, condition, one.guard.expr)
        for own, one in zip(violations, assumed, strict=True)
        for told, condition in [_told(one.expr, one.guard, names)]
        for sizes in own or [{}]
    )


def _add_pairs(violations: list[list[dict[str, int]]]) -> None:
    """Two at once: what one of them assumes may be of a side that the other decides."""
    alone = [list(own) for own in violations]
    pairs = (
        (own, {**one, **other})
        for (own, ours), (_, theirs) in itertools.permutations(
            zip(violations, alone, strict=True), 2
        )
        for one, other in zip(ours[-1:], theirs[:1], strict=False)
        if one.keys().isdisjoint(other)
    )
    for own, sizes in itertools.islice(pairs, _MOST_PAIRS):
        own.append(sizes)


def _told(expr: Expr, guard: Guard, names: Mapping[Expr, str]) -> tuple[Guard, Expr]:
    condition = _renamed(expr, {s: sympy.Symbol(names[s]) for s in expr.free_symbols})
    involved = tuple(dict.fromkeys(names[s] for s in sorted(expr.free_symbols, key=str)))
    return Guard(_shown(condition), involved, guard.location), condition


def _renamed(expr: Expr, names: Mapping[Expr, Expr]) -> Expr:
    """With other symbols; nothing is worked out anew, which takes long where quotients are nested."""
    if expr in names:
        return names[expr]
    if names.keys().isdisjoint(expr.free_symbols):
        return expr
    return expr.func(*(_renamed(part, names) for part in expr.args), evaluate=False)


def broken(boundary: Boundary, sizes: Mapping[str, int]) -> bool:
    """Whether the assumption of a boundary does not hold at these sizes."""
    if boundary.sizes and boundary.sizes.items() <= sizes.items():
        return True
    if boundary.condition is None:
        return False
    values = {sympy.Symbol(name): size for name, size in sizes.items()}
    return holds(boundary.condition, values) is False


def witnesses(
    captured: Captured, names: Mapping[Expr, str], environment: Any
) -> tuple[Mapping[str, int], ...]:
    """Where sizes have to fit (`n` a square, `h` a multiple of 7): others that do, up and down."""
    assumed = [one.expr for one in _assumptions(captured, names, environment)]
    fussy = [expr for expr in assumed if expr.atoms(sympy.Function) or isinstance(expr, sympy.Eq)]
    symbols = sorted({s for expr in fussy for s in expr.free_symbols}, key=str)
    hints = {s: _hint(environment, s) for s in symbols}
    told = [expr for expr in assumed if expr.free_symbols <= hints.keys()]
    found: list[Mapping[str, int]] = []
    for symbol in symbols[:4]:
        hint = hints[symbol]
        for sizes in (np.arange(hint + 1, 4 * hint + 9), np.arange(hint - 1, 0, -1)):
            held = np.full(len(sizes), fill_value=True)
            for expr in told:
                held &= holding(expr, {**hints, symbol: sizes})
            for size in sizes[held].tolist():
                values = {**hints, symbol: size}
                if not any(holds(expr, values) is False for expr in told):
                    found.append({names[symbol]: size})
                    break
    return tuple(found)


def _assumptions(
    captured: Captured, names: Mapping[Expr, str], environment: Any
) -> Iterator[_Assumption]:
    if environment is None:
        return
    met_at = getattr(environment, "met_at", {})
    first = {name: symbol for symbol, name in reversed(list(names.items()))}
    same = {symbol: first[name] for symbol, name in names.items()}  # two of one name are one size
    for raw, guard in zip(environment.guards, captured.guards, strict=False):
        expr = _renamed(environment.replace(raw.expr), same)
        if expr.free_symbols and expr.free_symbols <= names.keys():
            hints = {symbol: _hint(environment, symbol) for symbol in expr.free_symbols}
            elsewhere = {
                symbol: size
                for symbol, size in met_at.get(raw.expr, {}).items()
                if symbol in hints or (symbol in names and size != _hint(environment, symbol))
            }
            of_example = not elsewhere or holds(expr, hints) is not False
            yield _Assumption(expr, guard, hints | elsewhere, of_example)


def _shown(condition: Expr) -> str:
    """As Python would say it: `h // 2`, and not by the names of torch's functions."""
    relation = {sympy.Eq: "==", sympy.Ne: "!="}.get(type(condition))
    text = str(condition) if relation is None else f" {relation} ".join(map(str, condition.args))
    for name in _UNSAID:
        text = text.replace(name, "")
    for name, said in _SAID.items():
        text = text.replace(name, said)
    return text


def _smallest(one: _Assumption) -> Iterator[dict[Expr, int]]:
    """The smallest; and of what is rounded, which may hold and not hold by turns, the nearest to the
    example's size too: a file that is right at the one need not be at the other."""
    expr, hints = one.expr, one.hints
    kinds = (False, True) if _is_rounded(expr) else (False,)
    yield from _violations(expr, _with_its_limit(expr), hints, kinds)
    if isinstance(expr, sympy.Eq) and expr.lhs.is_Symbol and expr.rhs.is_Symbol:
        # Either may be 1 and be shown as many: of two sizes that differ, a model takes nothing else.
        for symbol in sorted(expr.free_symbols, key=str)[1:]:
            yield from _violations(expr, expr, hints, (False,), (symbol,))


def _nearest(one: _Assumption) -> Iterator[dict[Expr, int]]:
    """Those next to the example's: the limit itself, where both may come to the same, and beyond, which
    the example is where it does not take that branch."""
    yield from _violations(one.expr, one.expr, one.hints, (True,))
    beyond = _with_its_limit(one.expr)
    if beyond is not one.expr and one.of_example:
        yield from _violations(one.expr, beyond, one.hints, (True,))


def _by_others(one: _Assumption) -> Iterator[dict[Expr, int]]:
    """By any but the first size: the model may refuse where that one is too small or too large."""
    for symbol in sorted(one.expr.free_symbols, key=str)[1:]:
        yield from _violations(one.expr, _with_its_limit(one.expr), one.hints, (True,), (symbol,))


def _violations(
    expr: Expr,
    looked_for: Expr,
    hints: Mapping[Expr, int],
    nearest_first: Sequence[bool],
    symbols: Sequence[Expr] = (),
) -> Iterator[dict[Expr, int]]:
    for symbol in symbols or sorted(expr.free_symbols, key=str):
        hint = hints[symbol]
        near = np.arange(max(hint - _FAR, 1), hint + _FAR)
        sizes = np.union1d(np.arange(1, _LARGEST + 1), near)
        found = sizes[~holding(looked_for, {**hints, symbol: sizes})]
        for nearest in nearest_first:
            ordered = found[np.argsort(abs(found - hint), kind="stable")] if nearest else found
            named = ({**hints, symbol: size} for size in ordered.tolist())
            first = next((sizes for sizes in named if holds(expr, sizes) is False), None)
            if first is not None:
                yield first
        if len(found):
            return


def _with_its_limit(expr: Expr) -> Expr:
    """`a <= b` for `a < b`: as long as a limit is not beyond it."""
    loose = {sympy.StrictLessThan: sympy.Le, sympy.StrictGreaterThan: sympy.Ge}.get(expr.func)
    return expr if loose is None else loose(*expr.args, evaluate=False)


def _is_rounded(expr: Expr) -> bool:
    return bool(expr.atoms(sympy.Function))


def _hint(environment: Any, symbol: Expr) -> int:
    """The example's size; the table of them moved between torch 2.13 and 2.15."""
    for table in ("backed_var_to_val", "var_to_val"):
        values = getattr(environment, table, None)
        if values is not None and symbol in values:
            return int(values[symbol])
    return 2
