"""Requests to quantise that leave every layer as it is."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Kept, Quantised, Severity
from onnxpert.diagnose.rule import rule


@rule("QNT004", "nothing-quantised", reads=Quantised, severity=Severity.ERROR, since="0.2")
def nothing_quantised(quantised: Quantised) -> Iterator[Hit]:
    """
    ## What it does
    Finds models of which no layer can be quantised in the way that was asked for: `int4-weight` is
    about matrix products, `int8-static` has no form for LSTM, and all are about weights in float32
    that lie in the main graph, not in the body of a loop.

    ## Why it matters
    The file would be the float file under another name.

    ## Example
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Conv2d(8, 8, 3).eval()
    args = (torch.linspace(-1, 1, 512).reshape(1, 8, 8, 8),)
    options = {"quantize": "int4-weight"}
    ```

    ## Use instead
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Conv2d(8, 8, 3).eval()
    args = (torch.linspace(-1, 1, 512).reshape(1, 8, 8, 8),)
    options = {"quantize": "int8-dynamic"}
    ```

    ## Repair safety
    There is no repair: whether another scheme will do, only you can say.
    """
    if quantised.problem or any(layer.kept is None for layer in quantised.layers):
        return
    kinds = {layer.kept for layer in quantised.layers}
    operators = sorted({layer.op_type for layer in quantised.layers})
    if Kept.HURTS in kinds:
        reason = f"every layer would be further off than {quantised.bound:.1%} by itself"
        help = "allow more with quantize_bound=, or export without quantize="
    elif Kept.ASKED in kinds:
        reason = "quantize_exclude names every layer that could be"
        help = "name fewer layers"
    elif operators:
        reason = f"{quantised.scheme} has no form for {', '.join(operators)} as used here"
        help = "int8-dynamic has one for Conv, LSTM and products with one matrix on the right"
    else:
        reason = "the file has no layers with weights in float32"
        help = (
            "a model in half precision is turned with precision='float32'; or leave quantize= out"
        )
    yield Hit(f"nothing can be quantised: {reason}", help=help)
