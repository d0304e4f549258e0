"""Sizes that one way through a model takes for a number, while others leave them open.

A loop over rows on one side of a branch was recorded with the rows of that run. What all ways assume
is an assumption of the whole; what one of them does would be lost, and its side right at one size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import sympy

from onnxpert.capture.forking.runs import Run, Runs
from onnxpert.capture.forking.traces import Expr
from onnxpert.capture.guards import Assumption
from onnxpert.capture.places import Place
from onnxpert.core.size_conditions import holding

_LARGEST = 512


def fixed_aside(made: Runs) -> list[Assumption]:
    """What would have to be assumed for the whole to be right; nothing where no way fixes a size of its
    own. The first run is that of the example."""
    runs = made.all()
    numbers = [_numbers(run, made.symbols(run)) for run in runs]
    everywhere = Counter(expr for own in numbers for expr in own)
    found: dict[Expr, Assumption] = {}
    for run, own in zip(runs, numbers, strict=True):
        for expr, place in own.items():
            if everywhere[expr] < len(runs) and not _follows(expr, run, made.symbols(run)):
                condition, frames = _parting(runs[0], run) or (expr, place.frames)
                found.setdefault(condition, (condition, frames))
    return list(found.values())


def _numbers(run: Run, symbols: Mapping[Expr, int]) -> dict[Expr, Place]:
    """The sizes of inputs that the run took for numbers without asking."""
    asked = {one.question.condition for one in run.asked}
    return {
        guard.expr: guard.sloc
        for guard in run.environment.guards
        if isinstance(guard.expr, sympy.Eq)
        and isinstance(guard.sloc, Place)
        and {guard.expr, ~guard.expr}.isdisjoint(asked)
        and any(side in symbols for side in guard.expr.args)
        and any(side.is_Integer for side in guard.expr.args)
    }


def _follows(expr: Expr, run: Run, symbols: Mapping[Expr, int]) -> bool:
    """Whether no other size comes this way: `if n > 3` and then `if n < 5`."""
    symbol = next(iter(expr.free_symbols))
    sizes = {**symbols, symbol: np.arange(2, _LARGEST)}
    here = ~holding(expr, sizes)
    for one in _about_sizes(run):
        if set(one[0].free_symbols) <= set(sizes):
            here = here & (holding(one[0], sizes) == one[1])
    return not here.any()


def _about_sizes(run: Run) -> Iterator[tuple[Expr, bool]]:
    for asked in run.asked:
        if not asked.question.about_data:
            yield asked.question.condition, asked.question.answer


def _parting(first: Run, run: Run) -> Assumption | None:
    """The question about sizes at which a run left the way of the example, as it was answered there."""
    answers = dict(_about_sizes(run))
    for asked in first.asked:
        question = asked.question
        if not question.about_data and answers.get(question.condition) is not question.answer:
            held = question.condition if question.answer else sympy.Not(question.condition)
            return held, question.frames
    return None
