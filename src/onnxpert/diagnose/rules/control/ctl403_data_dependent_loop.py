"""A loop whose end the data decide."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import blockers, severity
from onnxpert.diagnose.rule import rule


@rule("CTL403", "data-dependent-loop", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def data_dependent_loop(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `while` loops on a condition that only the data decide, and `for` loops over as many things as
    the data say, where they could not be written as a loop of the file's: a round may leave tensors,
    numbers and lists of them to the next, and no set, no object and nothing that changes its number of
    axes. Beside an obstacle of another kind they are tried by themselves, and only told of where the
    file could have them.

    ## Why it matters
    A graph has as many rounds as the example took; the file would be right for some inputs only.

    ## Example
    ```python
    import torch


    class Doubles(torch.nn.Module):
        def forward(self, x):
            rounds = set()
            while x.sum() < 10:
                x = x * 2
                rounds.add(len(rounds))
            return x / (1 + len(rounds))


    model = Doubles().eval()
    args = (torch.full((3,), 2.0),)
    ```

    ## Use instead
    ```python
    import torch


    class Doubles(torch.nn.Module):
        def forward(self, x):
            rounds = 0
            while x.sum() < 10:
                x = x * 2
                rounds += 1
            return x / (1 + rounds)


    model = Doubles().eval()
    args = (torch.full((3,), 2.0),)
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in blockers(failed, Asked.LOOP):
        yield Hit(
            "Python loops for as long as the value of a tensor says",
            at=blocker.location,
            severity=severity(failed, blocker),
            help="keep in tensors, numbers or lists what a round leaves to the next",
        )
