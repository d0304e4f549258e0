"""Code that asks whether it is being exported."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("CAP008", "export-aware-forward", reads=Captured, severity=Severity.INFO, since="0.2")
def export_aware_forward(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds calls of `torch.onnx.is_in_onnx_export`, `torch.compiler.is_exporting`,
    `torch.jit.is_tracing` and their like in the model's own code.

    ## Why it matters
    The model does something else while it is exported than when it runs. The proof compares the file
    with what it does when it runs.

    ## Example
    ```python
    import torch


    class Knows(torch.nn.Module):
        def forward(self, x):
            if torch.onnx.is_in_onnx_export():
                return x + x
            return x * 2


    model = Knows().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Works(torch.nn.Module):
        def forward(self, x):
            return x * 2


    model = Works().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: a difference would be an error of its own.
    """
    for done in captured.done:
        if done.deed is Deed.QUESTION:
            yield Hit(
                f"forward asks {done.what}() and may do something else than it is told otherwise",
                at=done.location,
                help="write one way that does for both; the proof will tell whether the two agree",
            )
