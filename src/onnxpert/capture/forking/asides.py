"""What a model asks about sizes beside its loops: a rolled program does not go through it again.

`ShapeEnv._maybe_guard_rel` is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import sympy

from onnxpert.capture.forking.questions import Asking
from onnxpert.capture.forking.runs import Record, Runs
from onnxpert.capture.guards import Assumption
from onnxpert.core.source import location
from onnxpert.core.types import Loaded

logger = logging.getLogger(__name__)


class Hearing(Asking):
    """Is asked about a size by which a loop has counted, too: to torch that is a number from then on,
    and whatever is made of it."""

    def _maybe_guard_rel(self, expr: Any) -> None:  # type: ignore[override]
        if not isinstance(expr, sympy.Eq):
            super()._maybe_guard_rel(expr)


def asked_once(loaded: Loaded, record: Record) -> tuple[Assumption, ...]:
    """What the model's own code asks about sizes outside its loops, as one run answers it."""
    runs = Runs(loaded, record, Hearing)
    try:
        first = runs.completed((), runs.first)
    # The model does not take a short example, or torch cannot follow it there.
    except Exception as error:
        first = error
    if isinstance(first, Exception):
        logger.debug("nothing is known of what is asked besides", exc_info=first)
        return ()
    return tuple(
        (expr, frames)
        for expr, frames in (*first.environment.settled_once, *first.environment.kept_in_mind)
        if not _is_assertion(frames)
    )


def _is_assertion(frames: Sequence[Any]) -> bool:
    """What does not hold there is no other way to go."""
    at = location(frames)
    return at is not None and at.code.startswith("assert ")
