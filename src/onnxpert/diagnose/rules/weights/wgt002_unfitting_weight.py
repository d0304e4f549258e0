"""Weights of another shape, or another kind, than the checkpoint has."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Filling, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("WGT002", "unfitting-weight", reads=Filling, severity=Severity.ERROR, since="0.3")
def unfitting_weight(filling: Filling) -> Iterator[Hit]:
    """
    ## What it does
    Finds weights that are in the checkpoint with another shape, or with a dtype that is no other
    precision of the same: integers for floating-point numbers.

    ## Why it matters
    The checkpoint is of another model, or of another size of it. Nothing is written.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(4, 2), "bias": torch.randn(2)}}
    ```

    ## Use instead
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(2, 4), "bias": torch.randn(2)}}
    ```

    ## Repair safety
    Not repaired: give the checkpoint that belongs to the model.
    """
    for one in filling.misfits:
        turned = one.wanted.partition("[")[2].rstrip("]").split(", ")[::-1]
        transposed = one.given == f"{one.wanted.partition('[')[0]}[{', '.join(turned)}]"
        yield Hit(
            f"{one.key} is {one.wanted} in the model and {one.given} in {filling.source}",
            help="it is stored transposed: turn it before it is given"
            if transposed
            else "give the checkpoint that belongs to this model",
        )
