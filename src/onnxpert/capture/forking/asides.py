"""What a model asks about sizes beside its loops: a rolled program does not go through it again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from onnxpert.capture.forking.questions import Asking
from onnxpert.capture.forking.runs import Record, Runs
from onnxpert.capture.guards import Assumption, environment_of
from onnxpert.core.source import location
from onnxpert.core.types import Captured, Loaded

logger = logging.getLogger(__name__)


def asked_once(loaded: Loaded, record: Record) -> tuple[Assumption, ...]:
    """What the model's own code asks about a size outside its loops, as one run answers it."""
    runs = Runs(loaded, record)
    try:
        first = runs.completed((), runs.first)
    # The model does not take a short example, or torch cannot follow it there.
    except Exception as error:
        first = error
    if isinstance(first, Exception):
        logger.debug("nothing is known of what is asked besides", exc_info=first)
        return ()
    return _assumptions(first.environment)


def asked_in(captured: Captured) -> tuple[Assumption, ...] | None:
    """The same of a run that there is; None if it was none that hears what is asked."""
    environment = environment_of(captured.plain or captured)
    return _assumptions(environment) if isinstance(environment, Asking) else None


def _assumptions(environment: Asking) -> tuple[Assumption, ...]:
    return tuple(
        (expr, frames)
        for expr, frames in environment.settled_once
        if len(expr.free_symbols) == 1 and not _is_assertion(frames)
    )


def _is_assertion(frames: Sequence[Any]) -> bool:
    """What does not hold there is no other way to go."""
    at = location(frames)
    return at is not None and at.code.startswith("assert ")
