"""Operators that a narrower precision would spoil."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxpert.core.types import Hit, Narrowed, Severity
from onnxpert.diagnose.rule import rule


@rule("DTY903", "kept-in-float32", reads=Narrowed, severity=Severity.INFO, since="0.2")
def kept_in_float32(narrowed: Narrowed) -> Iterator[Hit]:
    """
    ## What it does
    Names the operators that stay in float32 although `precision="float16"` or `"bfloat16"` was asked
    for. Each operator is run on the example twice, with values rounded to that type and without;
    one is kept that overflows, that is further off (of its largest value) than the type's tolerance, or
    of whose values more than 5 % are below the normal range of the type. With the latter two, what
    they read is kept as well.

    ## Why it matters
    One operator that overflows makes the whole result infinite or NaN.

    ## Example
    ```python
    import torch


    class Weights(torch.nn.Module):
        def forward(self, x):
            return torch.exp(x)


    model = Weights().eval()
    args = (torch.full((4,), 12.0),)
    options = {"precision": "float16"}
    ```

    ## Use instead
    ```python
    import torch


    class Weights(torch.nn.Module):
        def forward(self, x):
            return torch.exp(x - 12)


    model = Weights().eval()
    args = (torch.full((4,), 12.0),)
    options = {"precision": "float16"}
    ```

    ## Repair safety
    Done by itself: the file stays proven, and is a little larger and slower.
    """
    for one in narrowed.kept:
        overflows = not math.isfinite(one.loss)
        cost = "overflows" if overflows else f"would lose {one.loss:.1%}"
        cost = f"would spoil {one.reader}, which reads it" if one.reader else cost
        yield Hit(
            f"{one.op_type} stays in float32: in {narrowed.precision} it {cost}",
            at=one.location,
            help="scale the values before this line, if all of it shall be narrow",
        )
