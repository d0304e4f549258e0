"""An opaque operator that does not say what shape its result has."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import said, shapeless
from onnxpert.diagnose.rule import rule


@rule("OPS504", "missing-shape-function", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def missing_shape_function(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds custom operators whose body cannot be followed, that have no `register_fake`, and whose
    result has a size of which it cannot be told how it follows from the dynamic sizes they are given.

    ## Why it matters
    Such an operator is run, at the example and at one other size, to see what it gives. A size of
    the result that stays, or follows one of its arguments' sizes, is understood; for any other the
    operator itself has to say.

    ## Example
    ```python
    import torch


    @torch.library.custom_op("ops504::flat", mutates_args=())
    def flat(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy().reshape(-1) * 2)


    class Flattens(torch.nn.Module):
        def forward(self, x):
            return flat(x)


    model = Flattens().eval()
    args = (torch.randn(3, 4),)
    options = {"dynamic_shapes": {"x": {0: "n", 1: "m"}}}
    ```

    ## Use instead
    ```python
    import torch


    @torch.library.custom_op("ops504::described_flat", mutates_args=())
    def flat(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy().reshape(-1) * 2)


    @flat.register_fake
    def flat_shape(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(x.numel())


    class Flattens(torch.nn.Module):
        def forward(self, x):
            return flat(x)


    model = Flattens().eval()
    args = (torch.randn(3, 4),)
    options = {"dynamic_shapes": {"x": {0: "n", 1: "m"}}}
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in shapeless(failed):
        yield Hit(
            said(blocker).partition(": ")[2],
            at=blocker.location,
            help="add @torch.library.register_fake, which gives an empty tensor of the right shape; "
            "or fix the dynamic sizes that reach it",
        )
