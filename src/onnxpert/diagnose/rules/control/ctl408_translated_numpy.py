"""NumPy in forward that could be translated."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("CTL408", "translated-numpy", reads=Captured, severity=Severity.INFO, since="0.2")
def translated_numpy(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds NumPy calls on tensors in `forward` that `torch.export` translated to torch.

    ## Why it matters
    Nothing is wrong with the file. But the model has to be captured by reading its bytecode, which is
    slow, and translates only part of NumPy.

    ## Example
    ```python
    import numpy
    import torch


    class Centres(torch.nn.Module):
        def forward(self, x):
            return x - float(numpy.mean(x.numpy()))


    model = Centres().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Centres(torch.nn.Module):
        def forward(self, x):
            return x - x.mean()


    model = Centres().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Done by itself, and proven.
    """
    for blocker in captured.overcome:
        yield Hit(
            "NumPy computes on a tensor here; it was translated to torch",
            at=blocker.location,
            help="write it with torch: the export is faster, and works for dynamic shapes too",
        )
