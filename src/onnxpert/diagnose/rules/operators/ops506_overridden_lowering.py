"""A lowering of ours that one of the user's takes the place of."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS506", "overridden-lowering", reads=Lowered, severity=Severity.INFO, since="0.1")
def overridden_lowering(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Says which operators were lowered by a plugin although onnxpert has a lowering for them.

    ## Why it matters
    A plugin may come with an installed package; what it changes should be known.

    ## Example
    ```python
    import onnxpert
    import torch


    @onnxpert.lowering(torch.ops.aten.relu.default)
    def clipped(op, x):
        return op.Clip(x, 0.0)


    model = torch.nn.ReLU().eval()
    args = (torch.randn(3),)
    options = {"plugins": [clipped]}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.ReLU().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the file is proven with your lowering.
    """
    for one in lowered.overridden:
        yield Hit(f"{one.op} is written by your lowering `{one.by}`, not by ours", at=one.location)
