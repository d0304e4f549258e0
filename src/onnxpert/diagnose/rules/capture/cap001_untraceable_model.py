"""A model that no strategy could capture, for a reason without a rule of its own."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
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
    import torch


    class Sparse(torch.nn.Module):
        def forward(self, x):
            indices = x.new_zeros((2, 1), dtype=torch.int64)
            return torch.sparse_coo_tensor(indices, x[:1], (4, 4)).coalesce().values()


    model = Sparse().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Dense(torch.nn.Module):
        def forward(self, x):
            return x[:1]


    model = Dense().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    if cause(failed) is Cause.OTHER:
        said = evidence(failed)
        yield Hit(
            f"the model cannot be traced: {said.kind}: {said.text.splitlines()[0]}",
            at=said.location,
            help="replace what stands at this line by tensor operations",
            notes=tuple(
                f"{strategy}: {failure.kind}: {failure.text.splitlines()[0][:200]}"
                for strategy, failure in failed.attempts
            ),
        )
