"""Branches that multiply."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxpert.core.types import Asked, Blocker, CaptureFailed, Hit, Location, Severity
from onnxpert.diagnose.rule import rule


@rule("CTL410", "too-many-paths", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def too_many_paths(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds models whose branches multiply: what one of them decides is still an object of Python's own
    when the next one comes (a set, a text, an attribute), so that every combination is a path of its
    own. Tensors, numbers and lists of them do not multiply.

    ## Why it matters
    A file with all of them would be exponentially large. Branches that only change tensors and numbers
    add up instead, however many there are.

    ## Example
    ```python
    import torch


    class Counts(torch.nn.Module):
        def forward(self, x):
            hits = set()
            for i in range(8):
                if x[i] > 0:
                    hits.add(i)
            return x * len(hits)


    model = Counts().eval()
    args = (torch.randn(8),)
    ```

    ## Use instead
    ```python
    import torch


    class Counts(torch.nn.Module):
        def forward(self, x):
            hits = 0
            for i in range(8):
                if x[i] > 0:
                    hits += 1
            return x * hits


    model = Counts().eval()
    args = (torch.randn(8),)
    ```

    ## Repair safety
    Not repaired.
    """
    for _, failure in failed.attempts:
        if failure.kind == "TooManyPathsError":
            places = getattr(failure.error, "places", ())
            if not places and failed.blockers:
                continue  # no path came to its end: what is in the way of that is said by itself
            if places and any(map(_is_at(places[0][0]), failed.blockers)):
                continue  # it is a value that Python wants, which is said by itself
            yield Hit(
                "the branches of the model multiply: there are too many paths for one file",
                at=places[0][0] if places else None,
                help="keep in tensors or numbers what one branch decides and the next one reads",
                notes=tuple(f"asked in {count} of the paths: {at}" for at, count in places),
            )


def _is_at(place: Location) -> Callable[[Blocker], bool]:
    def at(blocker: Blocker) -> bool:
        places = [each for each in (blocker.location, blocker.needed) if each is not None]
        is_same = any((each.file, each.line) == (place.file, place.line) for each in places)
        return is_same and blocker.asked in (Asked.NUMBER, Asked.NUMPY, Asked.CALL, Asked.LOOP)

    return at
