"""An input that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, InputKind, Severity
from onnxpert.diagnose.flow import reaches_output
from onnxpert.diagnose.rule import rule


@rule("INP114", "unused-input", reads=Captured, severity=Severity.INFO, since="0.2")
def unused_input(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds inputs on which no output depends. They stay inputs of the file, so that it is called as the
    model is.

    ## Why it matters
    A mask that nothing reads is often a mistake in the model; and some tools drop such inputs.

    ## Example
    ```python
    import torch


    class Ignores(torch.nn.Module):
        def forward(self, x, mask):
            return x * 2


    model = Ignores().eval()
    args = (torch.randn(3), torch.ones(3))
    ```

    ## Use instead
    ```python
    import torch


    class Masks(torch.nn.Module):
        def forward(self, x, mask):
            return x * 2 * mask


    model = Masks().eval()
    args = (torch.randn(3), torch.ones(3))
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    if captured.strategy == "scout":  # behind a stand-in nothing depends on anything
        return
    users = {entry.name for entry in captured.inputs if entry.kind is InputKind.USER}
    for index, entry in enumerate(captured.inputs):
        if entry.kind is InputKind.USER and len(users) > 1 and not reaches_output(captured, index):
            yield Hit(
                f"no output depends on the input {entry.name}",
                at=captured.loaded.source if captured.loaded else None,
                help=f"leave {entry.name} out, if the file need not take it",
            )
