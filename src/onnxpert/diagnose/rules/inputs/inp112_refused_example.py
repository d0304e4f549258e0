"""An example on which the model itself raises."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
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

    model = torch.nn.Linear(10, 5).eval()
    args = (torch.randn(2, 7),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(10, 5).eval()
    args = (torch.randn(2, 10),)
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
        notes=(f"inputs: {', '.join(_leaves(failed))}",),
    )


def _leaves(failed: CaptureFailed) -> Iterator[str]:
    for leaf in failed.loaded.leaves:
        if hasattr(leaf.value, "shape"):
            dtype = str(leaf.value.dtype).removeprefix("torch.")
            yield f"{leaf.name}: {dtype}{list(leaf.value.shape)}"
        else:
            yield f"{leaf.name}: {leaf.value!r}"
