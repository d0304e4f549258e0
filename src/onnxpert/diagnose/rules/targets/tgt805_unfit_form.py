"""A form of an operator that the target does not take."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT805", "unfit-form", reads=Fitting, severity=Severity.ERROR, since="0.2")
def unfit_form(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Compares the attributes, inputs and numbers of dimensions of every node with what the target
    takes of that operator.

    ## Why it matters
    The target has the operator and would refuse the file all the same.

    ## Example
    ```python
    import torch

    model = torch.nn.Upsample(scale_factor=2, mode="bicubic").eval()
    args = (torch.randn(1, 3, 8, 8),)
    options = {"target": "tensorrt"}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Upsample(scale_factor=2, mode="bilinear").eval()
    args = (torch.randn(1, 3, 8, 8),)
    options = {"target": "tensorrt"}
    ```

    ## Repair safety
    Not repaired.
    """
    for each in fitting.beyond:
        if each.limit is Limit.FORM:
            yield Hit(
                f"{fitting.target} takes {each.what} only with {each.detail}",
                at=each.location,
                help=each.help or "say it within that, or choose another target",
                notes=(f"by {fitting.source}", *([f"node {each.node}"] if each.node else [])),
            )
