"""Integers where the model computes with fractions."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, described, evidence
from onnxpert.diagnose.rule import rule


@rule("INP120", "integer-input", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def integer_input(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds integer example inputs that the model can only take as floating-point numbers.

    ## Why it matters
    The model itself raises on them; no export can follow.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.ones(3, 4, dtype=torch.int64),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.ones(3, 4),)
    ```

    ## Repair safety
    Not repaired: an integer input may be meant to be an index.
    """
    if cause(failed) is Cause.INTEGER:
        yield Hit(
            "an integer input meets a layer that computes with fractions",
            at=evidence(failed).location,
            help="give the example as float32: x.float()",
            notes=(f"inputs: {', '.join(described(failed))}",),
        )
