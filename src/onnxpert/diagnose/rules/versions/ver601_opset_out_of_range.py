"""An opset that the target, or the installed runtime, does not take."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Plan, Severity
from onnxpert.diagnose.rule import rule


@rule("VER601", "opset-out-of-range", reads=Plan, severity=Severity.ERROR, since="0.1")
def opset_out_of_range(plan: Plan) -> Iterator[Hit]:
    """
    ## What it does
    Finds an `opset_version` below the lowest that lowerings are written for, or above the highest
    that the installed runtime takes.

    ## Why it matters
    The file would be refused when it is loaded, or be of another opset than was asked for.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"opset_version": 99}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"opset_version": 18}
    ```

    ## Repair safety
    Not repaired: the opset was your wish.
    """
    if plan.asked is not None and not plan.lowest <= plan.asked <= plan.highest:
        yield Hit(
            f"opset {plan.asked} was asked for; {plan.target} here takes {plan.lowest} to {plan.highest}",
            at=plan.source,
            help=f"ask for an opset_version from {plan.lowest} to {plan.highest}, or leave it out",
        )
