"""A device written into the model's code."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule


@rule("CAP004", "fixed-device", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def fixed_device(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds models that move tensors to a device by name (`.cuda()`, `device="cuda"`) where that device is
    not there, or not where the weights are.

    ## Why it matters
    A file has no devices: its tensors are where the runtime puts them.

    ## Example
    ```python
    import torch


    class Moves(torch.nn.Module):
        def forward(self, x):
            return x + torch.ones(3, device="cuda")


    model = Moves().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Stays(torch.nn.Module):
        def forward(self, x):
            return x + torch.ones(3, device=x.device)


    model = Stays().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    asked = [one for one in failed.blockers if one.asked is Asked.DEVICE]
    if not asked and cause(failed) is not Cause.DEVICE:
        return
    told = [(one.text, one.location) for one in asked]
    for text, at in told or [(evidence(failed).text, evidence(failed).location)]:
        yield Hit(
            "the model asks for a device that is not there, or not the inputs'",
            at=at,
            help="take the device from a tensor: device=x.device, register_buffer for constants",
            notes=(f"torch says: {text.splitlines()[0]}",),
        )
