"""An output whose size the data decide."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import boundary, end_of
from onnxpert.diagnose.rule import rule
from onnxpert.diagnose.sized import data_sizes, symbols


@rule("SHP212", "data-sized-output", reads=Captured, severity=Severity.INFO, since="0.2")
def data_sized_output(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds outputs with a dimension that depends on the values of the inputs and not on their sizes:
    `nonzero`, a boolean index, `unique`.

    ## Why it matters
    Whoever reads the file's signature cannot tell that size, and buffers cannot be allocated before
    the call.

    ## Example
    ```python
    import torch


    class Keeps(torch.nn.Module):
        def forward(self, x):
            return x[x > 0]


    model = Keeps().eval()
    args = (torch.tensor([1.0, -1.0, 2.0]),)
    ```

    ## Use instead
    ```python
    import torch


    class Keeps(torch.nn.Module):
        def forward(self, x):
            return torch.where(x > 0, x, 0.0)


    model = Keeps().eval()
    args = (torch.tensor([1.0, -1.0, 2.0]),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    decided = data_sizes(captured.root)
    for kind, name, value in boundary(captured):
        sizes = getattr(value, "shape", ()) if kind == "output" else ()
        axes = [axis for axis, size in enumerate(sizes) if decided & set(symbols(size))]
        if axes:
            yield Hit(
                f"the output {name} has a size that the data decide (axis {axes[0]})",
                at=end_of(captured),
                help="pad to a fixed size and return a mask, if the caller needs to know the size",
            )
