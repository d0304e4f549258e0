"""A branch on a size that shall vary."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Crossed, Hit, Severity
from onnxpert.diagnose.rule import rule

_CHOOSE = "choose by value with torch.where, or leave that dimension fixed"
_INDEX = "use reshape or an index (x[:, 0]) in place of squeeze, or leave that dimension fixed"


@rule("SHP202", "size-branch", reads=Crossed, severity=Severity.ERROR, since="0.1")
def size_branch(crossed: Crossed) -> Iterator[Hit]:
    """
    ## What it does
    Finds Python code that does something else for some sizes of a dynamic dimension, where the two
    sides do not fit into one file: they give other numbers of outputs or of axes, or other types. The proof
    tries sizes on both sides of every condition on sizes that the model asked about.

    ## Why it matters
    The file holds the side that the example took, and is silently wrong on the other.

    ## Example
    ```python
    import torch


    class Branches(torch.nn.Module):
        def forward(self, x):
            if x.shape[0] > 2:
                return x * 100, x
            return (x * 2,)


    model = Branches().eval()
    args = (torch.randn(4, 3),)
    options = {"dynamic_shapes": ({0: "batch"},)}
    ```

    ## Use instead
    ```python
    import torch


    class Selects(torch.nn.Module):
        def forward(self, x):
            count = torch.ones_like(x[:, :1]).sum()
            return torch.where(count > 2, x * 100, x * 2), x


    model = Selects().eval()
    args = (torch.randn(4, 3),)
    options = {"dynamic_shapes": ({0: "batch"},)}
    ```

    ## Repair safety
    Not repaired, but for one case: 1 is all that is beyond the condition, and the dimension is one that
    torch calls `DYNAMIC`, which is at least 2. The file then takes 2 and more, and this is a warning.
    """
    does, cure = "does something else", _CHOOSE
    if crossed.row.other_rank:
        does, cure = "gives another number of axes", _INDEX
    yield Hit(
        f"the model {does} when {crossed.condition} does not hold, and the file cannot",
        at=crossed.boundary.guard.location,
        help=cure,
        notes=(f"at {crossed.row.case}: {crossed.row.detail or 'the results differ'}",),
    )
