"""Branches that multiply."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import told, unwritten
from onnxpert.diagnose.multiplying import multiplying
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
    for found in multiplying(failed):
        yield Hit(
            "the branches of the model multiply: there are too many paths for one file",
            at=found.at,
            help="keep in tensors or numbers what one branch decides and the next one reads",
            notes=(
                *(f"asked in {count} of the paths: {at}" for at, count in found.counts),
                *told(unwritten(failed)),
            ),
        )
