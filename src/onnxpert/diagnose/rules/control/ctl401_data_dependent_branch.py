"""A Python branch on the value of a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import blockers, severity
from onnxpert.diagnose.rule import rule


@rule("CTL401", "data-dependent-branch", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def data_dependent_branch(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `if`, `and` and `or` on a condition that only the data decide, in a model that cannot be
    captured. A branch alone is no obstacle: the file gets both sides. It is one where a side cannot
    be followed, or where the sides give results of different structure.

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
    for blocker in blockers(failed, Asked.BRANCH):
        yield Hit(
            "Python branches on the value of a tensor",
            at=blocker.location,
            severity=severity(failed),
            help="use torch.where for values, or torch.cond(predicate, true_fn, false_fn, operands)",
        )
