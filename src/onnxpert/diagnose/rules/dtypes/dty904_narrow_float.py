"""Half precision inside a model of single precision."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import is_library
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import beginnings
from onnxpert.diagnose.rule import rule


@rule("DTY904", "narrow-float", reads=Captured, severity=Severity.INFO, since="0.3")
def narrow_float(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds the lines where a model whose weights and inputs are float32 begins to compute in float16 or
    bfloat16: `.half()`, `.bfloat16()`, `.to(torch.bfloat16)`.

    ## Why it matters
    Runtimes have kernels for few operators in these types. Where there is none, the file computes in
    float32 between casts, and rounds where the model does.

    ## Example
    ```python
    import torch


    class Rounds(torch.nn.Module):
        def forward(self, x):
            return (x.bfloat16() * 2).float()


    model = Rounds().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Rounds(torch.nn.Module):
        def forward(self, x):
            return x * 2


    model = Rounds().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    for dtype in ("float16", "bfloat16"):
        for at in beginnings(captured, dtype):
            if not is_library(at.file):
                yield Hit(
                    f"{dtype} begins here, in a model of float32",
                    at=at,
                    help='leave the model in float32, and export with precision="float16" or '
                    '"bfloat16" if the file is to be narrower',
                )
