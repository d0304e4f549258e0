"""An operator that the asked opset does not have and a newer one has."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS502", "opset-too-low", reads=Lowered, severity=Severity.ERROR, since="0.1")
def opset_too_low(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Finds operators that can be said in a newer opset than the one that was asked for.

    ## Why it matters
    Other exporters deliver another opset than the one asked for, and only log it.

    ## Example
    ```python
    import torch


    class LowBits(torch.nn.Module):
        def forward(self, x):
            return x & 3


    model = LowBits().eval()
    args = (torch.arange(8),)
    options = {"opset_version": 13}
    ```

    ## Use instead
    ```python
    import torch


    class LowBits(torch.nn.Module):
        def forward(self, x):
            return x & 3


    model = LowBits().eval()
    args = (torch.arange(8),)
    options = {"opset_version": 18}
    ```

    ## Repair safety
    Not repaired: the opset was your wish.
    """
    told = set()  # what a line lacks, it may lack for several calls
    for missing in lowered.unsupported:
        at = missing.location
        line = at and (at.file, at.line, missing.reason)
        if missing.lowest_opset is not None and (line is None or line not in told):
            told.add(line)
            yield Hit(
                f"{missing.op} cannot be said in opset {lowered.opset}: {missing.reason}",
                at=at,
                help=f"ask for opset_version={missing.lowest_opset} or higher",
            )
