"""Weights that do not fit into one file."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule

_LIMIT_BYTES = 2**31


@rule("TGT811", "oversized-weights", reads=Captured, severity=Severity.INFO, since="0.2")
def oversized_weights(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds models whose weights are larger than 2 GiB.

    ## Why it matters
    A protocol-buffer file ends there. The weights are written to a second file beside the first, and
    both have to be kept together.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(32768, 32768, bias=False).eval()
    args = (torch.randn(1, 32768),)
    ```

    ## Use instead
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(32, 32, bias=False).eval()
    args = (torch.randn(1, 32),)
    ```

    ## Repair safety
    Done by itself.
    """
    weights = [entry.tensor for entry in captured.inputs if entry.tensor is not None]
    total = sum(tensor.numel() * tensor.element_size() for tensor in weights)
    if total >= _LIMIT_BYTES:
        yield Hit(
            f"the weights are {total / 2**30:.1f} GiB, more than one file holds: a second goes with it",
            at=captured.loaded.source if captured.loaded else None,
            help="move and serve the two files together",
        )
