"""A model that turns its last digits into its first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Verdict, Verified
from onnxpert.diagnose.rule import rule


@rule("NUM708", "amplified-rounding", reads=Verified, severity=Severity.ERROR, since="0.2")
def amplified_rounding(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Finds models that a change in the last digits of their inner values moves as far as the file is
    off.

    ## Why it matters
    Every library adds up in an order of its own, and gets other last digits. A model that makes a
    difference larger at every layer (attention with large scores, a recurrence that does not settle)
    gives another answer on another device, and with another thread count. Whether a file of it is
    right cannot be told: a wrong one would look the same.

    ## Example
    ```python
    import torch


    class Unsteady(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = torch.nn.Linear(64, 64)

        def forward(self, x):
            for _ in range(6):
                x = torch.sin(100 * self.mix(x))
            return x


    torch.manual_seed(0)
    model = Unsteady().eval()
    args = (torch.randn(8, 64),)
    ```

    ## Use instead
    ```python
    import torch


    class Steady(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = torch.nn.Linear(64, 64)

        def forward(self, x):
            for _ in range(6):
                x = torch.sin(self.mix(x))
            return x


    torch.manual_seed(0)
    model = Steady().eval()
    args = (torch.randn(8, 64),)
    ```

    ## Repair safety
    Not repaired. Weights drawn at random are often like this, and trained ones are not: export with
    those. A model that is meant to be like this can be exported in float64.
    """
    found = verified.divergence
    if verified.sway is None or (found is not None and found.by_rounding):  # said of the order
        return
    every = [row for row in verified.rows if row.verdict is Verdict.FAIL and not row.choices]
    if not every:  # all that differs is said of a size that the file does not take
        return
    failed, *_ = every
    is_shape = math.isinf(verified.sway)
    deed = "change the shape of the model's own" if is_shape else "move the model's own"
    far = "" if is_shape else f" by {verified.sway:.2g}"
    yield Hit(
        f"other last digits {deed} {failed.output}{far}, so that no file can be told right from wrong",
        at=found.location if found else verified.location,
        help="export with trained weights, or in float64",
        notes=(f"the file differs at {failed.case}: {failed.detail}",)
        if failed.max_abs is None
        else (f"the file differs at {failed.case} by {failed.max_abs:.2g}",),
    )
