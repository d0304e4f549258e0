"""A random number of Python's or NumPy's, drawn in forward."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("NUM703", "python-chance", reads=Captured, severity=Severity.WARNING, since="0.2")
def python_chance(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds calls of `random` and `numpy.random` while `forward` runs.

    ## Why it matters
    Only torch's random numbers become random numbers of the file. Any other is drawn once, during the
    export, and is a constant from then on.

    ## Example
    ```python
    import random

    import torch


    class Jitters(torch.nn.Module):
        def forward(self, x):
            return x * (1 + 0.5 * random.random())


    model = Jitters().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Jitters(torch.nn.Module):
        def forward(self, x, jitter):
            return x * (1 + 0.5 * jitter)


    model = Jitters().eval()
    args = (torch.randn(3), torch.rand(()))
    ```

    ## Repair safety
    Not repaired.
    """
    for done in captured.done:
        if done.deed is Deed.CHANCE:
            yield Hit(
                f"forward draws with {done.what}, and the file keeps the number that came",
                at=done.location,
                help="give the random number as an input",
            )
