"""Why a capture failed, in one word: exactly one rule answers to each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum, auto
from pathlib import Path

from onnxpert.core.types import (
    Asked,
    Blocker,
    CaptureFailed,
    Failure,
    Hit,
    Location,
    Severity,
    Unwritten,
)


class Cause(StrEnum):
    """The root of a failed capture."""

    PROBLEM = auto()  # the call, or the model before any call: said of what was loaded
    DTYPE = auto()  # the model refuses the example's dtype
    SMALL = auto()  # ... its size
    INDEX = auto()  # ... an index in it
    MISFIT = auto()  # ... its shape
    INTEGER = auto()  # ... that it is whole numbers
    LONE = auto()  # ... that there is but one of it, in training mode
    DEVICE = auto()  # the model asks for a device that is not there
    MEMORY = auto()  # ... for more memory than there is
    REFUSED = auto()  # the model refuses the example for a reason of its own
    BRANCH = auto()  # Python branches on a tensor's value
    VALUE = auto()  # Python takes a value out of a tensor
    SHAPE = auto()  # a custom operator does not say the shape of its result
    QUANTISED = auto()  # an operator on quantised tensors that is not known
    OTHER = auto()


_VALUE = re.compile(
    r"\.numpy\(\)|tolist|data_ptr|Cannot access data|DataDependentOutput|_local_scalar_dense|"
    r"aten\.item|convert.*to numpy|storage.*fake",
    re.IGNORECASE,
)


_SHAPELESS = "MissingFakeError"
_UNREAD = "UnreadQuantisedError"
_SAID_OF_LOADED = frozenset({"UnmadeWeightsError", "ObservingError"})


# What torch says when a model refuses its example; tried on torch 2.13 and 2.15.
_REFUSALS = {
    Cause.INDEX: r"index out of range in self|index \S+ is out of bounds",
    Cause.LONE: r"Expected more than 1 value per channel when training",
    Cause.DEVICE: r"not compiled with CUDA|No CUDA GPUs|NVIDIA driver|same device|not linked with",
    Cause.MEMORY: r"can't allocate memory|out of memory|bad_alloc|Unable to allocate",
    Cause.INTEGER: (
        r"not implemented for '(Long|Int|Short|Char|Byte)'|got (Long|Int) and |"
        r"found dtype (Long|Int)|but found (Long|Int)|expected \w+ but got (Long|Int)|"
        r"expected one dtype, got int"
    ),
    Cause.MISFIT: (
        r"shapes cannot be multiplied|must match the size of tensor|to have \d+ channels|"
        r"is invalid for input of size|Expected \d+D .*input|Given normalized_shape|"
        r"must be equal to input_size|Sizes of tensors must match|size mismatch"
    ),
}


def _refusal(eager: Failure) -> Cause:
    if eager.kind == "MemoryError":
        return Cause.MEMORY
    for kind, pattern in _REFUSALS.items():
        if re.search(pattern, eager.text):
            return kind
    return Cause.REFUSED


def described(failed: CaptureFailed) -> Iterator[str]:
    """The inputs of the example, each in a word."""
    for leaf in failed.loaded.leaves:
        if hasattr(leaf.value, "shape"):
            dtype = str(leaf.value.dtype).removeprefix("torch.")
            yield f"{leaf.name}: {dtype}{list(leaf.value.shape)}"
        else:
            yield f"{leaf.name}: {leaf.value!r}"


_BY_KIND = {_SHAPELESS: Cause.SHAPE, _UNREAD: Cause.QUANTISED}


def cause(failed: CaptureFailed) -> Cause:
    if failed.loaded.problems or evidence(failed).kind in _SAID_OF_LOADED:
        return Cause.PROBLEM
    if any(one.asked is Asked.DEVICE for one in failed.blockers):
        return Cause.DEVICE
    if failed.eager is not None:
        by_example = {Cause.DTYPE: failed.casts, Cause.SMALL: failed.sizes}
        return next((kind for kind, seen in by_example.items() if seen), _refusal(failed.eager))
    first = evidence(failed)
    if first.kind in _BY_KIND:
        return _BY_KIND[first.kind]
    if first.kind == "GuardOnDataDependentSymNode" or "data-dependent" in first.text:
        return Cause.BRANCH
    return Cause.VALUE if _VALUE.search(f"{first.kind} {first.text}") else Cause.OTHER


_KINDS = {Cause.BRANCH: Asked.BRANCH, Cause.VALUE: Asked.NUMPY, Cause.OTHER: Asked.CALL}


def blockers(failed: CaptureFailed, *kinds: Asked) -> Iterator[Blocker]:
    """What stands in the way: all that the scout met, else what stopped the strategies."""
    if failed.blockers:
        rest = [one for one in failed.blockers if not one.text.startswith((_SHAPELESS, _UNREAD))]
        yield from (blocker for blocker in rest if blocker.asked in kinds)
        return
    kind = _KINDS.get(cause(failed))
    if kind in kinds and kind is not None:
        said = evidence(failed)
        yield Blocker(kind, f"{said.kind}: {said.text}", said.location)


def shapeless(failed: CaptureFailed) -> Iterator[Blocker]:
    """The custom operators that say nothing of their result's shape."""
    yield from _of_kind(failed, _SHAPELESS)


def unread(failed: CaptureFailed) -> Iterator[Blocker]:
    """The operators on quantised tensors that are not known."""
    yield from _of_kind(failed, _UNREAD)


def _of_kind(failed: CaptureFailed, kind: str) -> Iterator[Blocker]:
    known = [one for one in failed.blockers if one.text.startswith(kind)]
    first = evidence(failed) if failed.attempts or failed.eager else None
    if not known and first is not None and first.kind == kind:
        known = [Blocker(Asked.CALL, f"{first.kind}: {first.text}", first.location)]
    yield from known


def said(blocker: Blocker) -> str:
    """What torch said, in one line and without the symbols that mean something to torch only."""
    first = blocker.text.splitlines()[0]
    return first.partition(" (unhinted")[0].partition(". If you")[0].rstrip(".")


def needed(blocker: Blocker, what: str) -> Iterator[str]:
    """Where a value is needed, if it is not where it was taken."""
    there = _apart(blocker)
    if there is not None:
        yield f"it has to be {what} at {Path(there.file).name}:{there.line}: `{there.code}`"


def needs(blocker: Blocker, what: str) -> Iterator[Hit]:
    """The same told at the line that needs it, which may be the one to change."""
    there, taken = _apart(blocker), blocker.location
    if there is not None and taken is not None:
        yield Hit(
            f"the value that {Path(taken.file).name}:{taken.line} takes out of a tensor has to be {what} here",
            at=there,
            severity=Severity.INFO,
            help="the error at that line says what to do; here is what asks for it",
        )


def _apart(blocker: Blocker) -> Location | None:
    at, there = blocker.location, blocker.needed
    if at is None or there is None or (at.file, at.line) == (there.file, there.line):
        return None
    return there


def unwritten(failed: CaptureFailed) -> Unwritten | None:
    """What kept its branches and loops from being written down, where that was tried."""
    found = [failure.unwritten for _, failure in failed.attempts if failure.unwritten is not None]
    return found[0] if found and found[0].location is not None else None


def told(reason: Unwritten | None) -> Iterator[str]:
    if reason is not None and reason.location is not None:
        at = reason.location
        yield f"{Path(at.file).name}:{at.line} is what no branch or loop of the file can say: {reason.text}"


# What the file can say by itself, as long as what they lead to can be followed.
_SAYABLE = frozenset({Asked.BRANCH, Asked.LOOP, Asked.ASSERTION})


def severity(failed: CaptureFailed, blocker: Blocker) -> Severity:
    """How bad a question about data is: beside a true obstacle, it is none of its own."""
    if behind(failed, blocker) is not None:
        return Severity.ERROR
    counts = is_obstacle(failed) and not is_cleared(failed, blocker)
    return Severity.ERROR if counts else Severity.INFO


def is_cleared(failed: CaptureFailed, blocker: Blocker) -> bool:
    """Whether the file would have what a line asks, were it not for others."""
    at, there = blocker.location, blocker.needed
    lines = {(one.file, one.line) for one in (at, there) if one is not None}
    return not lines.isdisjoint(failed.cleared)


def behind(failed: CaptureFailed, blocker: Blocker) -> Failure | None:
    """What a blocker fails for by itself, where that was looked for."""
    return next((failure for one, failure in failed.behind if one == blocker), None)


def reason_for(failed: CaptureFailed, blocker: Blocker) -> Unwritten | None:
    """What kept a blocker from being written down: its own reason where that is known."""
    own = behind(failed, blocker)
    return unwritten(failed) if own is None else own.unwritten


def is_obstacle(failed: CaptureFailed) -> bool:
    """Whether questions about data are all there is in the way."""
    return failed.eager is None and all(one.asked in _SAYABLE for one in failed.blockers)


def is_at_obstacle(failed: CaptureFailed, place: Location | None) -> bool:
    """Whether a line takes or needs what no branch and no loop of a file can say."""
    others = [one for one in failed.blockers if one.asked not in _SAYABLE]
    lines = {(at.file, at.line) for one in others for at in (one.location, one.needed) if at}
    return place is not None and (place.file, place.line) in lines


def evidence(failed: CaptureFailed) -> Failure:
    """The failure that says most: the model's own, else the first strategy's that has a line."""
    if failed.eager is not None:
        return failed.eager
    placed = [failure for _, failure in failed.attempts if failure.location is not None]
    return placed[0] if placed else failed.attempts[0][1]
