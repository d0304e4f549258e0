"""Tensors of a checkpoint that nobody asks for."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Filling, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("WGT003", "unused-key", reads=Filling, severity=Severity.INFO, since="0.3")
def unused_key(filling: Filling) -> Iterator[Hit]:
    """
    ## What it does
    Names the keys of a checkpoint that no weight of the model or the file wants.

    ## Why it matters
    Often it is right: a counter of batches, a head that is not used. Where other keys are missing,
    these are the ones to compare them with.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2, bias=False).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(2, 4), "head.weight": torch.randn(2)}}
    ```

    ## Use instead
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2, bias=False).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(2, 4)}}
    ```

    ## Repair safety
    Nothing to repair.
    """
    if filling.unused:
        shown = ", ".join(filling.unused[:3]) + (", ..." if len(filling.unused) > 3 else "")
        count = len(filling.unused)
        keys = "1 key is" if count == 1 else f"{count} keys are"
        yield Hit(f"{keys} in {filling.source} and not in the model: {shown}")
