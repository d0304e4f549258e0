"""Batch statistics of a single value."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule


@rule("STA315", "lone-sample", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def lone_sample(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds models in training mode whose batch normalisation is given one value per channel.

    ## Why it matters
    The model itself refuses: one value has no variance. In evaluation mode it would not ask.

    ## Example
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).train()
    args = (torch.randn(1, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).eval()
    args = (torch.randn(1, 4),)
    ```

    ## Repair safety
    Not repaired: whether the model is to be exported in training mode, only you know.
    """
    if cause(failed) is Cause.LONE:
        yield Hit(
            "batch normalisation in training mode needs more than one value per channel",
            at=evidence(failed).location,
            help="call model.eval() before exporting, or give --eval to the command",
        )
