"""An operator that the target has, and not in this type."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT804", "missing-kernel", reads=Fitting, severity=Severity.ERROR, since="0.2")
def missing_kernel(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Looks up the data types of every node, and of the inputs and outputs of the file, in the target's
    table of kernels.

    ## Why it matters
    The standard allows an operator in more types than a runtime has kernels for.

    ## Example
    ```python
    import torch


    class Twice(torch.nn.Module):
        def forward(self, x):
            return x + x


    model = Twice().eval()
    args = (torch.arange(4, dtype=torch.int8),)
    options = {"target": "tensorrt"}
    ```

    ## Use instead
    ```python
    import torch


    class Twice(torch.nn.Module):
        def forward(self, x):
            return x + x


    model = Twice().eval()
    args = (torch.arange(4, dtype=torch.int32),)
    options = {"target": "tensorrt"}
    ```

    ## Repair safety
    Safe where another type holds every value: bfloat16 and float8 are computed in float32, small
    integers in int32, between casts. With `repair="all"` also where one does not: int64 in int32 or
    float32, float64 in float32. Inputs and outputs of the file keep their types.
    """
    for each in fitting.beyond:
        if each.limit is Limit.DTYPE:
            where = each.what.startswith("the ")
            yield Hit(
                f"{fitting.target} does not take {each.what} in {each.detail}"
                if where
                else f"{fitting.target} has no kernel for {each.what} in {each.detail}",
                at=each.location,
                help=each.help
                or "cast to a type that it has (float32 always works), or choose another target",
                notes=(f"by {fitting.source}", *([f"node {each.node}"] if each.node else [])),
            )
