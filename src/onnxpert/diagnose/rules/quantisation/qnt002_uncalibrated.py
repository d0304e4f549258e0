"""Ranges of activations that were measured on made-up inputs."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Quantised, Severity
from onnxpert.diagnose.rule import rule


@rule("QNT002", "uncalibrated", reads=Quantised, severity=Severity.WARNING, since="0.2")
def uncalibrated(quantised: Quantised) -> Iterator[Hit]:
    """
    ## What it does
    Finds `quantize="int8-static"` without `calibration=`: the ranges of the activations come from
    the example, and from inputs with the example's values in another order.

    ## Why it matters
    A value beyond the range that was measured is cut off. What real inputs do to a model, an example
    of random numbers does not tell.

    ## Example
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(32, 8).eval()
    args = (torch.linspace(-1, 1, 64).reshape(2, 32),)
    options = {"quantize": "int8-static"}
    ```

    ## Use instead
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(32, 8).eval()
    args = (torch.linspace(-1, 1, 64).reshape(2, 32),)
    options = {"quantize": "int8-static", "calibration": [torch.randn(2, 32) for _ in range(4)]}
    ```

    ## Repair safety
    There is no repair: only you have the inputs. A hundred of them are plenty.
    """
    if quantised.calibration and not quantised.calibration_given:
        yield Hit(
            f"the ranges of activations come from the example and {quantised.calibration - 1} inputs "
            "made of it",
            help="give real inputs: calibration=[x1, x2, ...], or --calibration FILE",
        )
