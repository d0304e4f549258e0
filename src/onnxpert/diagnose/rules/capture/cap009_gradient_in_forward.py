"""A gradient that forward takes, and that the file has."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.rule import rule


@rule("CAP009", "gradient-in-forward", reads=Captured, severity=Severity.INFO, since="0.3")
def gradient_in_forward(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every `torch.autograd.grad` and `backward()` in `forward`.

    ## Why it matters
    ONNX knows no gradients. What torch computes for one is written into the file call by call; other
    exporters stop there.

    ## Example
    ```python
    import torch


    class Slope(torch.nn.Module):
        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_(True)
                return torch.autograd.grad(x.pow(3).sum(), x)[0]


    model = Slope().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Slope(torch.nn.Module):
        def forward(self, x):
            return 3 * x * x


    model = Slope().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Done by itself, and proven.
    """
    for one in captured.seen:
        if one.sight is Sight.GRADIENT:
            yield Hit(
                f"forward takes a gradient ({one.name})",
                at=one.location,
                help="nothing to do for the file; a formula for it would be quicker",
            )
