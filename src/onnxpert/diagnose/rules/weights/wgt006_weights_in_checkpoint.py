"""Weights that stay in a checkpoint, and those that cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnxpert.core.types import Hit, Pointed, Severity
from onnxpert.diagnose.rule import rule


@rule("WGT006", "weights-in-checkpoint", reads=Pointed, severity=Severity.INFO, since="0.3")
def weights_in_checkpoint(pointed: Pointed) -> Iterator[Hit]:
    """
    ## What it does
    Says how many weights stay in the checkpoint that was given as `weights=`, at which the file
    points, and which ones are stored with the file instead: those whose dtype, shape, layout or
    values are others than there. It is a warning where values differ.

    ## Why it matters
    The file and the checkpoint belong together from now on: whoever moves or overwrites the
    checkpoint changes what the file computes.

    ## Example
    ```python
    import pathlib
    import tempfile

    import torch
    from safetensors.torch import save_file

    model = torch.nn.Linear(40, 20).eval()
    args = (torch.randn(3, 40),)
    checkpoint = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    save_file(model.state_dict(), checkpoint)
    options = {"weights": checkpoint}
    ```

    ## Use instead
    Nothing, if that is what was meant; else the weights go into the file.

    ```python
    import torch

    model = torch.nn.Linear(40, 20).eval()
    args = (torch.randn(3, 40),)
    ```

    ## Repair safety
    Nothing to repair.
    """
    files = ", ".join(pointed.files[:2]) + (", ..." if len(pointed.files) > 2 else "")
    kept = "1 weight stays" if pointed.weights == 1 else f"{pointed.weights} weights stay"
    beside = f"; {len(pointed.beside)} are stored with the file" if pointed.beside else ""
    reasons = Counter(reason for _, reason in pointed.beside)
    notes = tuple(
        f"{next(name for name, why in pointed.beside if why == reason)}"
        + (f" and {count - 1} more" if count > 1 else "")
        + f": {reason}"
        for reason, count in reasons.most_common(8)
    )
    yield Hit(
        f"{kept} in {files} ({pointed.bytes} bytes){beside}",
        help="is it the checkpoint of this model? its values are others"
        if pointed.differing
        else "keep the checkpoint beside the file, as it is",
        notes=notes,
        severity=Severity.WARNING if pointed.differing else None,
    )
