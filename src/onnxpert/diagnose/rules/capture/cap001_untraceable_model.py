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


    @torch.library.custom_op("cap001::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2


    class Opaque(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Opaque().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    @torch.library.custom_op("cap001::described_twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2


    @twice.register_fake
    def twice_shape(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)


    class Described(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Described().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    if cause(failed) is Cause.OTHER:
        said = evidence(failed)
        yield Hit(
            f"the model cannot be traced: {said.kind}: {said.text.splitlines()[0].rstrip('.')}",
            at=said.location,
            help="replace what stands at this line by tensor operations",
            notes=tuple(
                f"{strategy} says: {failure.text.splitlines()[0][:200]}"
                for strategy, failure in failed.attempts
                if failure.text != said.text
            ),
        )
