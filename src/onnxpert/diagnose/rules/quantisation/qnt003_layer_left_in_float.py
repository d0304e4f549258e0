"""Layers that quantising would spoil by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Kept, Quantised, Severity
from onnxpert.diagnose.rule import rule


@rule("QNT003", "layer-left-in-float", reads=Quantised, severity=Severity.INFO, since="0.2")
def layer_left_in_float(quantised: Quantised) -> Iterator[Hit]:
    """
    ## What it does
    Names the layers that stay in float32 although quantising was asked for, because each of them
    alone would be further off than the whole file may be. Each layer is run on the calibration
    inputs (without any, on the example) with what the float file feeds it, quantised and not.

    ## Why it matters
    One weight that is a thousand times larger than its neighbours leaves them no digits. Such a
    layer is better left as it is, and the file is a little larger for it.

    ## Example
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)).eval()
    model[1].weight.data[:, 0] *= 3000
    args = (torch.linspace(-1, 1, 256).reshape(4, 64),)
    model[0].weight.data[0] *= 0.0001
    model[0].bias.data[0] *= 0.0001
    options = {"quantize": "int4-weight"}
    ```

    ## Use instead
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)).eval()
    args = (torch.linspace(-1, 1, 256).reshape(4, 64),)
    options = {"quantize": "int4-weight"}
    ```

    ## Repair safety
    Done by itself. `quantize_bound=` says how far off is too far.
    """
    for layer in quantised.layers:
        if layer.kept is Kept.HURTS and layer.own is not None:
            yield Hit(
                f"{layer.op_type} stays in float32: alone, {quantised.scheme} would move it by "
                f"{layer.own:.1%}",
                at=layer.location,
                notes=(f"the layer is `{layer.name}`",),
            )
