"""A lowering of the user's own that fails."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS505", "broken-lowering", reads=Lowered, severity=Severity.ERROR, since="0.1")
def broken_lowering(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Finds lowerings given as plugins that raise an exception, or that give something else than the
    values torch's operator gives.

    ## Why it matters
    Nothing is put in the place of a lowering that you asked for.

    ## Example
    ```python
    import onnxpert
    import torch


    @onnxpert.lowering(torch.ops.aten.relu.default)
    def clipped(op, x):
        return op.Clip(x, op.constant(0.0))  # there is no op.constant


    model = torch.nn.ReLU().eval()
    args = (torch.randn(3),)
    options = {"plugins": [clipped]}
    ```

    ## Use instead
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

    ## Repair safety
    Not repaired.
    """
    for missing in lowered.unsupported:
        if missing.broken is not None:
            yield Hit(
                f"the lowering {missing.broken.reason}",
                at=missing.broken.location,
                help="mend it; docs/custom-operators.md has what a lowering may use",
                notes=(f"it was asked for {missing.op}, at {missing.location}",),
            )
