"""A model that no strategy could capture, for a reason without a rule of its own."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import blockers, said
from onnxpert.diagnose.rule import rule


@rule("CAP001", "untraceable-model", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def untraceable_model(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Reports what every strategy ran into, where none of the other rules knows the cause.

    ## Why it matters
    The model runs in Python but cannot be followed as a graph.

    ## Example
    ```python
    import io

    import torch


    class Stores(torch.nn.Module):
        def forward(self, x):
            memory = io.BytesIO()
            torch.save(x, memory)
            memory.seek(0)
            return torch.load(memory) * 2


    model = Stores().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Copies(torch.nn.Module):
        def forward(self, x):
            return x.clone() * 2


    model = Copies().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in blockers(failed, Asked.CALL):
        yield Hit(
            f"the model cannot be traced: {said(blocker)}",
            at=blocker.location,
            help="replace what stands at this line by tensor operations",
            notes=tuple(
                f"{strategy} says: {failure.text.splitlines()[0][:200]}"
                for strategy, failure in failed.attempts
                if failure.text not in blocker.text and not failed.blockers
            ),
        )
