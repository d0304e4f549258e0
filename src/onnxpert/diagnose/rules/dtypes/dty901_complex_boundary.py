"""A complex input or output."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import boundary, end_of
from onnxpert.diagnose.rule import rule


@rule("DTY901", "complex-boundary", reads=Captured, severity=Severity.INFO, since="0.2")
def complex_boundary(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds complex numbers among the inputs and outputs. In the file each is a real tensor with a last
    dimension of 2: the real and the imaginary part.

    ## Why it matters
    ONNX Runtime takes no complex tensors, so whoever calls the file has to give and take pairs:
    `torch.view_as_real`, `torch.view_as_complex`.

    ## Example
    ```python
    import torch


    class Spectrum(torch.nn.Module):
        def forward(self, x):
            return torch.fft.fft(x)


    model = Spectrum().eval()
    args = (torch.randn(4),)
    ```

    ## Use instead
    ```python
    import torch


    class Spectrum(torch.nn.Module):
        def forward(self, x):
            return torch.view_as_real(torch.fft.fft(x))


    model = Spectrum().eval()
    args = (torch.randn(4),)
    ```

    ## Repair safety
    Nothing to repair: it is how complex numbers are written.
    """
    source = captured.loaded.source if captured.loaded else None
    for kind, name, value in boundary(captured):
        if hasattr(value, "is_complex") and value.is_complex():
            yield Hit(
                f"the {kind} {name} is complex: in the file it is real, with a last dimension of 2",
                at=source if kind == "input" else end_of(captured),
                help="use torch.view_as_real in the model to make the pairs visible",
            )
