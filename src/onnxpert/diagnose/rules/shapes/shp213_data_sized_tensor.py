"""A line that makes a tensor as large as the data say."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.rule import rule


@rule("SHP213", "data-sized-tensor", reads=Captured, severity=Severity.INFO, since="0.3")
def data_sized_tensor(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every line that makes a tensor whose size depends on values: `nonzero`, a boolean index,
    `unique`, `bincount`, `repeat_interleave`.

    ## Why it matters
    Nothing is wrong: the file computes the size anew for every input. But other exporters stop at
    such a line or keep the example's size, and runtimes that plan their memory ahead (TensorRT,
    mobile) take no such operator.

    ## Example
    ```python
    import torch


    class Averages(torch.nn.Module):
        def forward(self, x):
            return x[x > 0].sum()


    model = Averages().eval()
    args = (torch.tensor([1.0, -1.0, 2.0]),)
    ```

    ## Use instead
    ```python
    import torch


    class Averages(torch.nn.Module):
        def forward(self, x):
            return torch.where(x > 0, x, 0.0).sum()


    model = Averages().eval()
    args = (torch.tensor([1.0, -1.0, 2.0]),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    for one in captured.seen:
        if one.sight is Sight.SIZE:
            yield Hit(
                f"the data decide how large the result of {one.name} is",
                at=one.location,
                help="nothing to do for the file; a mask keeps every size for those who need that",
            )
