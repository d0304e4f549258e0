"""A part of the model that is TorchScript."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.parts import called_at, parts
from onnxpert.diagnose.rule import rule


@rule("CAP006", "scripted-part", reads=Loaded, severity=Severity.INFO, since="0.2")
def scripted_part(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds scripted and traced modules inside a model.

    ## Why it matters
    They have no Python to run. Their code is read instead, and their source lines with it; what was
    traced is as fixed as its trace.

    ## Example
    ```python
    import torch

    traced = torch.jit.trace(torch.nn.Linear(4, 4), torch.randn(2, 4))
    model = torch.nn.Sequential(traced, torch.nn.ReLU()).eval()
    args = (torch.randn(2, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    args = (torch.randn(2, 4),)
    ```

    ## Repair safety
    Nothing to repair: it is read as it is.
    """
    outer = ""
    for path, module in parts(loaded):
        scripted = hasattr(module, "_c") and hasattr(module, "code") and path
        if scripted and not (outer and path.startswith(f"{outer}.")):
            outer = path
            yield Hit(
                f"{path} is TorchScript, which is read instead of run",
                at=called_at(loaded, path),
                help="build the model with the Python module, if it is at hand",
            )
