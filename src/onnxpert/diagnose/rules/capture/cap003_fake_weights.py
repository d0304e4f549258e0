"""Weights that have a shape and no values."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, InputKind, Severity
from onnxpert.diagnose.rule import rule


@rule("CAP003", "fake-weights", reads=Captured, severity=Severity.ERROR, since="0.1")
def fake_weights(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds models built under `FakeTensorMode` or on the `meta` device. They are captured and lowered
    like any other, so that everything else is diagnosed without loading the checkpoint.

    ## Why it matters
    A file without weights cannot be run, and so not be proven.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    model = model.to_empty(device="cpu")
    model.load_state_dict({"weight": torch.randn(2, 4), "bias": torch.randn(2)})
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Not repaired: load the checkpoint. Without loading it: `weights="model.safetensors"` lets the
    file point into it and proves that; `weights="later"` writes a file for `onnxpert fill`.
    """
    empty = [
        entry.name
        for entry in captured.inputs
        if entry.kind is not InputKind.USER
        and entry.tensor is not None
        and (hasattr(entry.tensor, "fake_mode") or entry.tensor.is_meta)
    ]
    if empty:
        shown = ", ".join(empty[:3]) + (", ..." if len(empty) > 3 else "")
        yield Hit(
            f"{len(empty)} weights have no values: {shown}",
            at=captured.loaded.source if captured.loaded else None,
            help="load the checkpoint into the model before exporting: "
            'model.to_empty(device="cpu"), then model.load_state_dict(...); or give it as '
            'weights="model.safetensors", or weights="later" and `onnxpert fill`',
        )
