"""An operator on quantised tensors that nobody has said in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import said, unread
from onnxpert.diagnose.rule import rule


@rule("OPS511", "quantised-module", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def quantised_module(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds operators on tensors of torch's quantised dtypes (`quint8`, `qint8`) that are not read. The
    usual ones are: layers and functions of `torch.ao.nn.quantized`, static and dynamic, views, pools.

    ## Why it matters
    A quantised tensor is written as its integers and their scale. What an operator makes of the scale
    is its own affair, and has to be known one by one.

    ## Example
    ```python
    import torch


    class Sorts(torch.nn.Module):
        def forward(self, x):
            values, _ = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).sort()
            return values.dequantize()


    model = Sorts().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch


    class Sorts(torch.nn.Module):
        def forward(self, x):
            values, _ = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).dequantize().sort()
            return values


    model = Sorts().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Not repaired: which scale the operator leaves is not known.
    """
    for blocker in unread(failed):
        yield Hit(
            said(blocker).partition(": ")[2],
            at=blocker.location,
            help="call it between dequantize() and quantize_per_tensor(), where it is an operator on "
            "floats; see docs/quantisation.md for what is read",
        )
