"""An optional input that was given as None."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.rule import rule


@rule("INP115", "absent-input", reads=Loaded, severity=Severity.INFO, since="0.2")
def absent_input(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds arguments that are None in the example: the file has no input for them.

    ## Why it matters
    The file is the model without that argument. A file that takes it needs an example that has it.

    ## Example
    ```python
    import torch


    class Masks(torch.nn.Module):
        def forward(self, x, mask=None):
            return x * 2 if mask is None else x * mask


    model = Masks().eval()
    args = (torch.randn(3), None)
    ```

    ## Use instead
    ```python
    import torch


    class Masks(torch.nn.Module):
        def forward(self, x, mask=None):
            return x * 2 if mask is None else x * mask


    model = Masks().eval()
    args = (torch.randn(3), torch.ones(3))
    ```

    ## Repair safety
    Nothing to repair.
    """
    for leaf in loaded.leaves:
        if leaf.value is None:
            yield Hit(
                f"{leaf.path} is None in the example, so the file has no input for it",
                at=loaded.source,
                help=f"give a tensor for {leaf.path}, if the file is to take one",
            )
