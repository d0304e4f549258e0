"""Double precision inside a model of single precision."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import beginnings
from onnxpert.diagnose.rule import rule


@rule("DTY902", "stray-double", reads=Captured, severity=Severity.INFO, since="0.2")
def stray_double(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds the lines where a model whose weights and inputs are float32 or narrower begins to compute
    in float64, which NumPy's constants and `torch.double` bring in.

    ## Why it matters
    It costs twice the memory and more than twice the time, and many targets have no kernel for it.

    ## Example
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x):
            return x * torch.full((3,), 0.1, dtype=torch.float64)


    model = Scales().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x):
            return x * torch.full((3,), 0.1, dtype=x.dtype)


    model = Scales().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    for at in beginnings(captured, "float64"):
        yield Hit(
            "double precision begins here, in a model of single precision",
            at=at,
            help="give the constant the dtype of the tensor it meets: dtype=x.dtype",
        )
