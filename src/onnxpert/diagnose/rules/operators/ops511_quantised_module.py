"""A module whose weights were quantised by torch's eager mode."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS511", "quantised-module", reads=Lowered, severity=Severity.ERROR, since="0.2")
def quantised_module(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Finds calls of torch's `quantized` operators: `torch.ao.quantization.quantize_dynamic` and `convert`
    put them there.

    ## Why it matters
    Their weights are packed for a kernel of torch's own, and what is packed cannot be read back.

    ## Example
    ```python
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.ao.nn.quantized.dynamic.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Not repaired: the float model is needed.
    """
    for missing in lowered.unsupported:
        if missing.op.startswith("quantized."):
            yield Hit(
                f"{missing.op} computes on weights that torch has packed and no graph can hold",
                at=missing.location,
                help="export the float model and quantise the file with onnxruntime.quantization, "
                "or quantise with torchao, whose operators are followed",
            )
