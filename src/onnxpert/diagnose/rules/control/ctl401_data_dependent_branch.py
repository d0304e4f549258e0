"""A Python branch on the value of a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule


@rule("CTL401", "data-dependent-branch", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def data_dependent_branch(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `if`, `while`, `assert`, `and` and `or` on a condition that only the data decide.

    ## Why it matters
    A graph holds one side of the branch; the file would be right for some inputs only.

    ## Example
    ```python
    import torch


    class Gate(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x - 1


    model = Gate().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Gate(torch.nn.Module):
        def forward(self, x):
            return torch.where(x.sum() > 0, x * 2, x - 1)


    model = Gate().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    if cause(failed) is Cause.BRANCH:
        said = evidence(failed)
        yield Hit(
            "Python branches on the value of a tensor",
            at=said.location,
            help="use torch.where for values, or torch.cond(predicate, true_fn, false_fn, operands)",
            notes=(f"torch says: {said.text.splitlines()[0]}",),
        )
