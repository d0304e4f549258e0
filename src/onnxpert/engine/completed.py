"""A model whose example does not fit its signature, with one that does: to look at what else there is."""

from __future__ import annotations

from onnxpert.capture import refusal
from onnxpert.core.types import Loaded, Request, replace
from onnxpert.load import load
from onnxpert.load.completing import BAD_SIGNATURE, completions


def completed(loaded: Loaded, request: Request) -> Loaded:
    """The model with arguments that it takes, or as it was; the misfit stays a problem of its."""
    misfits = [problem for problem in loaded.problems if problem.kind == BAD_SIGNATURE]
    for other in completions(request) if misfits else ():
        whole = load(other)
        if refusal(whole) is None:
            # What was wrong on account of the misfit alone goes with it.
            kept = [problem for problem in loaded.problems if problem in whole.problems]
            return replace(whole, problems=(*misfits, *kept))  # type: ignore[no-any-return]
    return loaded
