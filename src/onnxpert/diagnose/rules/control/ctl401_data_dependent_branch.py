"""A Python branch on the value of a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpert.core.statement import refuses, subscripted
from onnxpert.core.surrounding import is_decided_at, returns_on_a_side
from onnxpert.core.types import Asked, Blocker, CaptureFailed, Hit, Location, Severity, Unwritten
from onnxpert.diagnose.causes import (
    behind,
    blockers,
    evidence,
    is_at_obstacle,
    is_cleared,
    is_obstacle,
    reason_for,
    told,
    unwritten,
)
from onnxpert.diagnose.conditions import whole
from onnxpert.diagnose.flow import end_of
from onnxpert.diagnose.instead import of_number, of_unwritten
from onnxpert.diagnose.multiplying import multiplies_at
from onnxpert.diagnose.rule import rule

_STRUCTURES = "its sides return different structures"  # what the join of the sides says of that


@rule("CTL401", "data-dependent-branch", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def data_dependent_branch(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `if`, `and` and `or` on a condition that only the data decide, in a model that cannot be
    captured. A branch alone is no obstacle: the file gets both sides. It is one where a side cannot
    be followed, or where the sides give results of different structure. Beside an obstacle of
    another kind it is tried by itself, and only told of where the file could have it.

    ## Why it matters
    A graph holds one side of the branch; the file would be right for some inputs only.

    ## Example
    ```python
    import torch


    class Gate(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2, x
            return (x - 1,)


    model = Gate().eval()
    args = (torch.ones(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Gate(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2, x
            return x - 1, x


    model = Gate().eval()
    args = (torch.ones(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    reason = unwritten(failed)
    found = tuple(blockers(failed, Asked.BRANCH))
    uneven = _uneven(failed, found)
    blocking = _blocking(failed, reason, found) if uneven is None else ()
    if uneven is not None:
        yield Hit(
            "the data decide how many results are returned here",
            at=uneven,
            help="return as many as there can be, with a mask or their number; or one tensor of them, "
            "whose size may depend on the data",
        )
    for blocker in found:
        if multiplies_at(failed, blocker.location):
            continue  # in more ways than a file can hold, which is said there
        if uneven is None and (differ := _difference(failed, blocker.location)):
            yield Hit(
                f"Python branches on the value of a tensor, and {differ}",
                at=whole(blocker.location),
                help="have both sides return the same number of results, each of one type and one "
                "number of dimensions: an output of a file has no other",
            )
        elif is_cleared(failed, blocker) or not (blocker in blocking or behind(failed, blocker)):
            if blocker.location is not None and refuses(blocker.location):
                continue  # a check, which is told as one
            yield Hit(
                "Python branches on the value of a tensor: an If of the file, if each of its sides can be followed",
                at=whole(blocker.location),
                severity=Severity.INFO,
                help="see to the errors; what this leads to is then in the file, or said here",
            )
        else:
            yield Hit(
                "Python branches on the value of a tensor",
                at=whole(blocker.location),
                help=_cure_of(reason_for(failed, blocker)) or _cure(blocker.location),
                notes=tuple(told(reason_for(failed, blocker))),
            )
    told_otherwise = not is_obstacle(failed) or uneven is not None
    if reason is not None and not told_otherwise and not _is_met(reason, failed.blockers):
        yield Hit(
            f"no branch or loop of the file can say what the data decide here: {reason.text}",
            at=reason.location,
            help=_cure_of(reason) or _cure(reason.location),
        )


def _blocking(
    failed: CaptureFailed, reason: Unwritten | None, found: Sequence[Blocker]
) -> Sequence[Blocker]:
    """Of all branches those that a file cannot have, as far as that is known."""
    if not is_obstacle(failed):
        if reason is None or is_at_obstacle(failed, failed.attempts[0][1].location):
            return ()  # the paths were followed up to there, which is why they were to be written down
        # What is in the way on one of its sides is told at its own line.
        rest = [one for one in failed.blockers if one not in found]
        return [
            one
            for one in found
            if _is_at(reason.location, one)
            and not any(is_decided_at(other.location, one.location) for other in rest)
        ]
    ends = [evidence(failed).location, *([reason.location] if reason is not None else [])]
    ended = [one for one in found if any(_is_at(end, one) for end in ends)]
    known = reason is not None and not _is_met(reason, found)
    return ended if ended or known else found


def _is_met(reason: Unwritten, found: Sequence[Blocker]) -> bool:
    return reason.location is None or any(_is_at(reason.location, one) for one in found)


def _cure_of(reason: Unwritten | None) -> str:
    return "" if reason is None else of_unwritten(reason.text)


def _cure(place: Location | None) -> str:
    if place is not None and subscripted(place) is not None:
        return of_number("", place.code)
    return "use torch.where for values, or torch.cond(predicate, true_fn, false_fn, operands)"


def _is_at(place: Location | None, blocker: Blocker) -> bool:
    at = blocker.location
    return at is not None and place is not None and (at.file, at.line) == (place.file, place.line)


def _uneven(failed: CaptureFailed, found: Sequence[Blocker]) -> Location | None:
    """Where results are returned of which a branch only made more or fewer: behind it, for both sides."""
    for place in [one.location for one in found if one.location is not None]:
        differ = _difference(failed, place) == _STRUCTURES
        if differ and not returns_on_a_side(place) and failed.scouted is not None:
            return end_of(failed.scouted)
    return None


def _difference(failed: CaptureFailed, place: Location | None) -> str:
    """What the sides of the branch at a place have not in common, if that is what was in the way."""
    tried = [failure for _, failure in failed.attempts]
    for failure in [*tried, *(failure for _, failure in failed.behind)]:
        at = failure.location
        if failure.kind != "SidesDifferError" or at is None or place is None:
            continue
        if (at.file, at.line) == (place.file, place.line):
            return failure.text
    return ""
