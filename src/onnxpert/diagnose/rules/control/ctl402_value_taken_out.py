"""A value taken out of a tensor into Python or NumPy."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import blockers, needed, needs
from onnxpert.diagnose.instead import of_array
from onnxpert.diagnose.rule import rule


@rule("CTL402", "value-taken-out", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def value_taken_out(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `.numpy()`, `.tolist()` and similar calls in `forward` on a tensor that depends on the
    input.

    ## Why it matters
    What Python or NumPy computes from there on is not part of the graph.

    ## Example
    ```python
    import numpy
    import torch


    class Unwraps(torch.nn.Module):
        def forward(self, x):
            return torch.from_numpy(numpy.unwrap(x.numpy()))


    model = Unwraps().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Unwraps(torch.nn.Module):
        def forward(self, x):
            jumps = torch.round(torch.diff(x, prepend=x[:1]) / (2 * torch.pi))
            return x - 2 * torch.pi * torch.cumsum(jumps, 0)


    model = Unwraps().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in blockers(failed, Asked.NUMPY):
        places = (blocker.location, blocker.needed)
        yield Hit(
            "a value is taken out of a tensor, and NumPy or Python computes on with it",
            at=blocker.location,
            help=of_array(" ".join(place.code for place in places if place is not None)),
            notes=tuple(needed(blocker, "a value of Python's own")),
        )
        yield from needs(blocker, "a value of Python's own")
