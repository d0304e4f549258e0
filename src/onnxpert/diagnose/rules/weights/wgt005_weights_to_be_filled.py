"""A file that is written without values."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Unfilled
from onnxpert.diagnose.rule import rule


@rule("WGT005", "weights-to-be-filled", reads=Unfilled, severity=Severity.WARNING, since="0.3")
def weights_to_be_filled(unfilled: Unfilled) -> Iterator[Hit]:
    """
    ## What it does
    Says what a file lacks that is exported with `weights="later"` from a model on the `meta` device
    or under `FakeTensorMode`, and which of the weights no checkpoint is going to have: buffers that
    are registered with `persistent=False` are not in a state dict.

    ## Why it matters
    No runtime loads the file before `onnxpert fill` has put the values into it, and nothing is
    proven before that.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": "later"}
    ```

    ## Use instead
    The values, where they are there already: the file then points at them, and is proven.

    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(2, 4), "bias": torch.randn(2)}}
    ```

    ## Repair safety
    Not repaired: `onnxpert fill model.onnx checkpoint.safetensors`, then `onnxpert verify`.
    """
    notes: tuple[str, ...] = ()
    if unfilled.outside:
        shown = ", ".join(unfilled.outside[:5]) + (", ..." if len(unfilled.outside) > 5 else "")
        notes = (
            (
                f"not in a state dict (persistent=False): {shown}; make them on the CPU before "
                "the export, or give them to fill as a state dict"
            ),
        )
    weights = "1 weight has" if unfilled.weights == 1 else f"{unfilled.weights} weights have"
    yield Hit(
        f"{weights} no values yet ({_size(unfilled.bytes)})",
        at=unfilled.location,
        help="onnxpert fill MODEL.onnx CHECKPOINT.safetensors, then onnxpert verify",
        notes=notes,
    )


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
