"""Sizes that vary, on a target where that means something."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT807", "varying-size", reads=Fitting, severity=Severity.INFO, since="0.2")
def varying_size(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Says what dynamic dimensions ask for on targets that like fixed ones better.

    ## Why it matters
    The file runs there, and not as it is or not as fast: TensorRT wants to know the range of each
    size, and the accelerators of telephones leave such models to the CPU.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"target": "ort-mobile", "dynamic_shapes": {"input": {0: "batch"}}}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"target": "ort-mobile"}
    ```

    ## Repair safety
    Not repaired: whether sizes vary is your wish.
    """
    for each in fitting.beyond:
        if each.limit is Limit.DYNAMIC:
            yield Hit(f"{each.what} may vary, and {each.detail}", help=each.help)
