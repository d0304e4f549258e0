"""Installed packages that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Misfit, Severity
from onnxpert.diagnose.rule import rule


@rule("VER611", "unfit-installation", reads=Misfit, severity=Severity.WARNING, since="0.2")
def unfit_installation(misfit: Misfit) -> Iterator[Hit]:
    """
    ## What it does
    Finds installed packages that exclude each other by their own metadata (torchvision made for
    another torch, onnxscript for another onnx-ir), a torch that is older than what is tested, and two
    builds of one package on top of each other. Nothing is imported for it. It is a warning where an
    export needs the packages, and information otherwise.

    ## Why it matters
    Such pairs import, and fail later with messages that speak of something else.

    ## Example
    Nothing in a model shows it: the environment does.

    ```sh
    pip install onnxruntime onnxruntime-gpu
    ```

    ## Use instead
    What `onnxpert doctor` says, which also imports every package and asks the runtime what it takes:

    ```sh
    pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu
    ```

    ## Repair safety
    Not repaired: the environment is yours.
    """
    yield Hit(
        misfit.message,
        help=misfit.cure,
        severity=Severity.WARNING if misfit.needed else Severity.INFO,
    )
