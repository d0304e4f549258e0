"""An example whose shape does not fit the layer it meets."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, described, evidence
from onnxpert.diagnose.rule import rule


@rule("INP119", "unfitting-shape", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def unfitting_shape(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds example inputs whose sizes do not fit a weight or another tensor of the model.

    ## Why it matters
    The model itself raises on them; no export can follow.

    ## Example
    ```python
    import torch

    model = torch.nn.Conv2d(3, 8, 3).eval()
    args = (torch.randn(1, 1, 8, 8),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Conv2d(3, 8, 3).eval()
    args = (torch.randn(1, 3, 8, 8),)
    ```

    ## Repair safety
    Not repaired: there is no result to be equal to.
    """
    if cause(failed) is Cause.MISFIT:
        yield Hit(
            f"the shape of the example does not fit: {evidence(failed).text.splitlines()[0]}",
            at=evidence(failed).location,
            help="call model(*args) in Python first: the example must be one that the model takes",
            notes=(f"inputs: {', '.join(described(failed))}",),
        )
