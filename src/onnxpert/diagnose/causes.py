"""Why a capture failed, in one word: exactly one rule answers to each."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from onnxpert.core.types import CaptureFailed, Failure


class Cause(StrEnum):
    """The root of a failed capture."""

    PROBLEM = auto()  # the call itself: loading said it already
    DTYPE = auto()  # the model refuses the example's dtype
    SMALL = auto()  # ... its size
    REFUSED = auto()  # ... for a reason of its own
    BRANCH = auto()  # Python branches on a tensor's value
    VALUE = auto()  # Python takes a value out of a tensor
    OTHER = auto()


_VALUE = re.compile(
    r"\.numpy\(\)|tolist|data_ptr|Cannot access data|DataDependentOutput|_local_scalar_dense|"
    r"aten\.item|convert.*to numpy|storage.*fake",
    re.IGNORECASE,
)


def cause(failed: CaptureFailed) -> Cause:
    if failed.loaded.problems:
        return Cause.PROBLEM
    if failed.eager is not None:
        if failed.casts:
            return Cause.DTYPE
        return Cause.SMALL if failed.sizes else Cause.REFUSED
    first = evidence(failed)
    if first.kind == "GuardOnDataDependentSymNode" or "data-dependent" in first.text:
        return Cause.BRANCH
    return Cause.VALUE if _VALUE.search(f"{first.kind} {first.text}") else Cause.OTHER


def evidence(failed: CaptureFailed) -> Failure:
    """The failure that says most: the model's own, else the first strategy's that has a line."""
    if failed.eager is not None:
        return failed.eager
    placed = [failure for _, failure in failed.attempts if failure.location is not None]
    return placed[0] if placed else failed.attempts[0][1]
