"""An example on which the model itself raises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, described, evidence
from onnxpert.diagnose.rule import rule


@rule("INP112", "refused-example", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def refused_example(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds example inputs on which the model raises by itself, without any export.

    ## Why it matters
    It is no export problem at all, though every exporter reports it as one. The message is the
    model's own.

    ## Example
    ```python
    import torch


    class Even(torch.nn.Module):
        def forward(self, x):
            if x.shape[0] % 2:
                raise ValueError("the batch has to be even")
            return x * 2


    model = Even().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch


    class Even(torch.nn.Module):
        def forward(self, x):
            if x.shape[0] % 2:
                raise ValueError("the batch has to be even")
            return x * 2


    model = Even().eval()
    args = (torch.randn(2, 4),)
    ```

    ## Repair safety
    Not repaired: there is no result to be equal to.
    """
    if cause(failed) is not Cause.REFUSED:
        return
    said = evidence(failed)
    yield Hit(
        f"the model itself raises on the example: {said.text.rstrip('.')}",
        at=said.location,
        help="call model(*args) in Python first: the example must be one that the model takes",
        notes=(f"inputs: {', '.join(described(failed))}", *_behind(failed)),
    )


def _behind(failed: CaptureFailed) -> Iterator[str]:
    """What the next lines would refuse, which may be for the same reason."""
    for one in failed.further:
        if one.location is not None:
            at = f"{Path(one.location.file).name}:{one.location.line}"
            yield f"behind it, {at} raises as well: {one.text.rstrip('.')}"
