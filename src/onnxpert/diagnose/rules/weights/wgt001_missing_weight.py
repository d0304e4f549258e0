"""Weights for which a checkpoint has no values."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from onnxpert.core.types import Filling, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("WGT001", "missing-weight", reads=Filling, severity=Severity.ERROR, since="0.3")
def missing_weight(filling: Filling) -> Iterator[Hit]:
    """
    ## What it does
    Finds weights without values whose key is not in the checkpoint that they are to be taken from,
    by `onnxpert fill` or by `weights=` on a model that was built without values. A tied weight is
    found under any of its keys.

    ## Why it matters
    A file with some of its weights cannot be run. Nothing is written.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(2, 4)}}
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
    Not repaired: give the checkpoint that belongs to the model, and what it leaves out (buffers
    that are made with `persistent=False`) as a state dict beside it: `weights=[path, {...}]`.
    """
    if not filling.missing:
        return
    first = filling.missing[0]
    shown = ", ".join(filling.missing[:3]) + (", ..." if len(filling.missing) > 3 else "")
    near = difflib.get_close_matches(first, filling.unused, 1, 0.7)
    yield Hit(
        f"{_several(len(filling.missing))} not in {filling.source}: {shown}",
        help=f"it has {near[0]}: rename its keys to those of the model"
        if near
        else "give the checkpoint of this model; what it leaves out can be given as a state dict",
        notes=tuple(filling.missing[3:20]),
    )


def _several(count: int) -> str:
    return "1 weight is" if count == 1 else f"{count} weights are"
