"""A shape environment that does not brood: what takes long to prove is taken from the example.

torch tries to solve every question about sizes; with a few quotients in it, that can take minutes.
Here such a question is answered by the example's sizes and kept as an assumption, which the proof
tries to break like any other. `ShapeEnv.evaluate_expr`, `ShapeGuard`, `_get_sloc` and
`FloorDiv` are torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import sympy
import torch
from torch._guards import ShapeGuard
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.symbol import SymT, symbol_is_type
from torch.utils._sympy.value_ranges import ValueRanges

Expr: TypeAlias = Any  # sympy.Expr
Number: TypeAlias = bool | int | float
# What one run of a model may have proven, in terms of the questions, which every machine counts alike;
# after that all is assumed. Time only ends what takes far longer than its terms tell.
BUDGET_TERMS = 600_000
BUDGET_SECONDS = 60.0  # of the processor
_MOST_QUOTIENTS = 1
_MOST_TERMS = 60
_SMALLEST = (1, 0)  # torch takes these for constants; to a model they are sizes like any other
_FEW = 3  # sizes that are tried together

_LEAST_THOUGHT_OF = 2
_BY_ITS_RANGE = "range_refined_to_singleton"  # torch's word for why a size is a number


def _from_one(plain: Any) -> Any:
    """`ShapeEnv._maybe_evaluate_static` with sizes of 1 in mind, where the data have a say.

    That `n - u` is no less than 0, as `u` is at most 2 and so is no size to torch, is not known."""

    def evaluated(self: Any, expr: Expr, **options: Any) -> Any:
        found = plain(self, expr, **options)
        if found not in (sympy.true, sympy.false) or "var_to_range" in options:
            return found
        ranges = _ranges_from_one(self.var_to_range, expr.free_symbols)
        return plain(self, expr, **{**options, "var_to_range": ranges}) if ranges else found

    evaluated.cache_clear = plain.cache_clear  # type: ignore[attr-defined]
    return evaluated


def _ranges_from_one(known: Any, symbols: set[Expr]) -> tuple[tuple[Expr, Any], ...]:
    """What is known of all symbols, if the data decide some of these and others are sizes."""
    decided = {one for one in symbols if symbol_is_type(one, SymT.UNBACKED_INT)}
    sizes = [one for one in symbols - decided if one in known]
    ones = {
        one: ValueRanges(1, known[one].upper)
        for one in sizes
        if known[one].lower == _LEAST_THOUGHT_OF
    }
    return tuple({**known, **ones}.items()) if decided and ones else ()


class Frugal(ShapeEnv):
    """Proves what is easily proven and assumes the rest."""

    _maybe_evaluate_static = _from_one(ShapeEnv._maybe_evaluate_static)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.definitions: dict[Expr, Expr] = {}  # symbols for longer expressions
        self._doubted: frozenset[str] = frozenset()
        self._told: Expr | None = None  # what ranges are being made narrower by
        # What a loop in steps turned once for: where it starts, and how far that goes.
        self.in_steps: dict[Expr, tuple[int, int]] = {}
        # Sizes that the user wants to vary and are 1 in the example.
        self.ones: dict[Expr, int] = {}
        # What is only assumed on a way that other sizes take: those of a run that took it.
        self.met_at: dict[Expr, dict[Expr, int]] = {}

    def spelled_out(self, expr: Expr) -> Expr:
        """In the sizes of the inputs, and of what the data decide; nothing is worked out anew."""
        if self.definitions.keys().isdisjoint(expr.free_symbols):
            return expr
        if expr in self.definitions:
            return self.spelled_out(self.definitions[expr])
        return expr.func(*map(self.spelled_out, expr.args), evaluate=False)

    def spelled_out_guard(self, guard: ShapeGuard) -> ShapeGuard:
        expr = self.spelled_out(guard.expr)
        return guard if expr is guard.expr else guard._replace(expr=expr)

    def settled(self, expr: Expr) -> bool | None:
        """The answer to whether a size is what it is defined to be, and to what is no question any more,
        as most that torch asks is not; None to all else."""
        if expr is sympy.true or expr is sympy.false:
            return bool(expr)
        if not self.definitions or not isinstance(expr, sympy.Eq | sympy.Ne):
            return None
        sides = {self.definitions.get(side, side) for side in (expr.lhs, expr.rhs)}
        return isinstance(expr, sympy.Eq) if len(sides) == 1 else None

    def evaluate_expr(
        self, orig_expr: Expr, hint: Number | None = None, *rest: Any, **options: Any
    ) -> Any:
        if (answer := self.settled(orig_expr)) is not None:
            return sympy.sympify(answer)
        asked = (_of_sizes_alone(orig_expr), hint, *rest)
        return _evaluated(self, super().evaluate_expr, asked, options)

    def assume(self, condition: Expr) -> None:
        """Holds in the example, and is neither proven nor solved."""
        _assume(self, condition)

    def _set_replacement(self, a: Expr, tgt: Expr, msg: str, *rest: Any) -> None:
        """That `a + b` is 10 is an assumption, which a proof can break; no file has an input of
        `10 - a`. And a size that is not above 2 is 2 to torch alone, which never thinks of 1."""
        is_small = tgt == _LEAST_THOUGHT_OF and msg == _BY_ITS_RANGE
        is_equal = isinstance(self._told, sympy.Eq)
        if (is_equal or not is_small) and not _decreases(tgt):
            super()._set_replacement(a, tgt, msg, *rest)

    def _refine_ranges(self, expr: Expr) -> None:
        before, self._told = self._told, expr
        try:
            super()._refine_ranges(expr)
        finally:
            self._told = before

    def doubts(self, condition: Expr) -> bool:
        """Whether it is a question rather than an assumption."""
        return any(worded(side) in self._doubted for side in (condition, sympy.Not(condition)))


@contextmanager
def frugally() -> Iterator[None]:
    """While on, every other shape environment is frugal too: those that torch.export makes."""
    environments: Any = ShapeEnv
    plain = environments.evaluate_expr

    def evaluate_expr(
        self: Any, orig_expr: Expr, hint: Number | None = None, *rest: Any, **options: Any
    ) -> Any:
        return _evaluated(self, functools.partial(plain, self), (orig_expr, hint, *rest), options)

    static = environments._maybe_evaluate_static
    environments.evaluate_expr = evaluate_expr
    environments._maybe_evaluate_static = _from_one(static)
    try:
        yield
    finally:
        environments.evaluate_expr = plain
        environments._maybe_evaluate_static = static


@contextmanager
def quotients_as_they_are() -> Iterator[None]:
    """While on, a long quotient that a factor is cancelled from is not rewritten beyond that.

    `FloorDiv` asks sympy to simplify what is left, and for what two sums have in common, which takes
    minutes where sizes go through many layers, and finds nothing that the division has not."""
    library: Any = sympy
    plain = library.simplify
    quotients: Any = FloorDiv
    evaluated = quotients.eval

    def simplify(expr: Expr, *rest: Any, **options: Any) -> Any:
        if isinstance(expr, sympy.Expr) and is_long(expr):
            return sympy.expand_mul(expr, deep=False)
        return plain(expr, *rest, **options)

    def quotient(base: Expr, divisor: Expr) -> Any:
        if not isinstance(divisor, sympy.Add):
            return evaluated(base, divisor)
        times = _times(base, divisor)
        if times is not None:
            return sympy.floor(times)
        return None if is_long(base + divisor) else evaluated(base, divisor)

    library.simplify = simplify
    quotients.eval = staticmethod(quotient)
    try:
        yield
    finally:
        library.simplify = plain
        quotients.eval = evaluated


def _times(sum_of_sizes: Expr, other: Expr) -> Expr | None:
    """How often a sum is the other, where each of its terms is as often the other's."""
    one, two = sum_of_sizes.as_coefficients_dict(), other.as_coefficients_dict()
    if one.keys() != two.keys():
        return None
    found = {one[term] / two[term] for term in one}
    return found.pop() if len(found) == 1 else None


def _evaluated(
    environment: Any, plain: Callable[..., Any], asked: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    expr, hint, *rest = asked
    if (answer := of_one_number(expr)) is not None:
        return sympy.sympify(answer)
    fallback = rest[2] if len(rest) > 2 else options.get("fallback_value")
    spent = getattr(environment, "spent_seconds", 0.0)
    thought = getattr(environment, "spent_terms", 0)
    hurried = thought > BUDGET_TERMS or spent > BUDGET_SECONDS
    known = _shortly(environment, expr, hint, hurried=hurried)
    if known is None:
        environment.spent_terms = thought + _terms(expr)
        start = time.process_time()
        try:
            return plain(*asked, **options)
        finally:
            environment.spent_seconds = spent + time.process_time() - start
    # What torch falls back on is right for all sizes, the example's answer is not.
    if known is not fallback and not environment._suppress_guards_tls():
        _assume(environment, expr if known else sympy.Not(expr))
    return sympy.sympify(known)


def _of_sizes_alone(expr: Expr) -> Expr:
    """That `n + n // 8` is `m + n // 8` as what it says: then the two sizes are one, which torch does
    not see, nor is it in the words of another way through the model."""
    if not isinstance(expr, sympy.Eq | sympy.Ne) or not isinstance(expr.lhs, sympy.Add):
        return expr
    terms = (expr.lhs - expr.rhs).as_coefficients_dict()
    if len(terms) != 2 or not all(term.is_Symbol for term in terms):
        return expr
    (one, by), (other, against) = sorted(terms.items(), key=str)
    return expr.func(one, other) if by == -against else expr


def _decreases(expr: Expr) -> bool:
    """Whether it is less, the more any of its sizes is."""
    terms = [(term, by) for term, by in expr.as_coefficients_dict().items() if term.free_symbols]
    return bool(terms) and all(by < 0 and term.is_Symbol for term, by in terms)


def of_one_number(expr: Expr) -> bool | None:
    """Whether a number is more than itself, and a difference: None where it is not one number's.

    Of reals, which sympy knows less of than of whole numbers, torch says yes to `f > f`."""
    if not isinstance(expr, sympy.Gt | sympy.Ge | sympy.Lt | sympy.Le) or not expr.free_symbols:
        return None
    apart = expr.lhs - expr.rhs
    return bool(expr.func(apart, 0)) if apart.is_Number and apart.is_finite else None


def is_otherwise_when_small(expr: Expr, answer: bool) -> bool:
    """Whether a question about sizes has the other answer where some of them are 1 or 0."""
    symbols = sorted(expr.free_symbols, key=str)
    each = [{symbol: size} for symbol in symbols for size in _SMALLEST]
    together = itertools.product(_SMALLEST, repeat=len(symbols)) if len(symbols) <= _FEW else ()
    for sizes in (*each, *(dict(zip(symbols, one, strict=True)) for one in together)):
        with suppress(ZeroDivisionError, AssertionError, ValueError, TypeError):
            other = expr.xreplace({symbol: sympy.Integer(n) for symbol, n in sizes.items()})
            if other in (sympy.true, sympy.false) and bool(other) != answer:
                return True
    return False


def _shortly(environment: Any, expr: Expr, hint: Number | None, *, hurried: bool) -> bool | None:
    """The example's answer to a question that is not worth the time; None: it is, or data decide."""
    if not isinstance(expr, sympy.logic.boolalg.Boolean) or not symbols_in(expr):
        return None
    if not hurried and not is_heavy(expr):
        return None
    return _value(expr, environment) if hint is None else bool(hint)


def _assume(environment: Any, condition: Expr) -> None:
    if condition in (sympy.true, sympy.false):
        return
    if condition not in _assumed(environment):
        place = environment._get_sloc()
        environment.guards.append(ShapeGuard(condition, place, size_oblivious=False))


def _assumed(environment: Any) -> set[Expr]:
    """All that is, read off the guards but once: a deep model asks again about each of thousands."""
    guards = environment.guards
    count, last, known = getattr(environment, "read_guards", (0, None, set()))
    if count > len(guards) or (count and guards[count - 1] is not last):  # somebody changed them
        count, known = 0, set()
    known.update(guard.expr for guard in guards[count:])
    environment.read_guards = (len(guards), guards[-1] if guards else None, known)
    return known


@functools.lru_cache(4096)
def symbols_in(expr: Expr) -> frozenset[Expr]:
    """Its free symbols, which sympy looks for anew whenever it is asked."""
    return frozenset(expr.free_symbols)


@functools.lru_cache(4096)
def worded(expr: Expr) -> str:
    """Its text: of the same conditions in every run of a model."""
    return str(expr)


@functools.lru_cache(4096)
def _terms(expr: Any) -> int:
    if not isinstance(expr, sympy.Basic):
        return 1
    return sum(1 for _ in sympy.preorder_traversal(expr))


@functools.lru_cache(4096)
def is_heavy(expr: Expr) -> bool:
    """Whether torch would think about it for long."""
    quotients = 0
    for terms, part in enumerate(sympy.preorder_traversal(expr)):
        quotients += isinstance(part, sympy.Function) and not isinstance(
            part, sympy.Max | sympy.Min
        )
        if quotients > _MOST_QUOTIENTS or terms > _MOST_TERMS:
            return True
    return False


def is_long(expr: Expr) -> bool:
    return any(count > _MOST_TERMS for count, _ in enumerate(sympy.preorder_traversal(expr)))


def has_quotient(expr: Expr) -> bool:
    return bool(expr.atoms(sympy.Function))


def _value(expr: Expr, environment: Any) -> bool | None:
    values = example_sizes(environment)
    if not expr.free_symbols <= values.keys():
        return None
    try:
        found = expr.xreplace(values)
    except (ZeroDivisionError, AssertionError):
        return None
    return bool(found) if found in (sympy.true, sympy.false) else None


def example_sizes(environment: Any) -> Any:
    """Every symbol's size in the example; the table moved between torch 2.13 and 2.15."""
    found = getattr(environment, "backed_var_to_val", None)
    return found if found is not None else environment.var_to_val


def hint_of(size: Any) -> int | None:
    """The size in the example, None where only the data know it."""
    if isinstance(size, int):
        return size
    return None if size.node.hint is None else int(size.node.hint)


def expression(size: Any) -> Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
