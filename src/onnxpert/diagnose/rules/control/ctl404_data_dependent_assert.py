"""An `assert` on the value of a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import blockers, severity
from onnxpert.diagnose.rule import rule


@rule("CTL404", "data-dependent-assert", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def data_dependent_assert(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `assert` on a condition that only the data decide, where it stops the capture.

    ## Why it matters
    A file has no exceptions: the check cannot be in it, and tracing stops at the question.

    ## Example
    ```python
    import torch


    class Checks(torch.nn.Module):
        def forward(self, x):
            assert x.max() < 100, f"too large: {x.numpy().max()}"
            assert float(x.numpy().min()) > -100
            return x * 2


    model = Checks().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Trusts(torch.nn.Module):
        def forward(self, x):
            if not torch.compiler.is_compiling():
                assert x.max() < 100
            return x * 2


    model = Trusts().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired: only you know whether the check may go.
    """
    for blocker in blockers(failed, Asked.ASSERTION):
        yield Hit(
            "an assertion asks for the value of a tensor",
            at=blocker.location,
            severity=severity(failed, blocker),
            help="check before the model is called, or only when not torch.compiler.is_compiling()",
        )
