"""A branch on data or sizes that the file has both sides of."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import is_library
from onnxpert.core.statement import begins_loop
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.conditions import whole
from onnxpert.diagnose.rule import rule


@rule("CTL406", "branch-in-file", reads=Captured, severity=Severity.INFO, since="0.2")
def branch_in_file(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every `if` on the value of a tensor, or on a dynamic size, that became an `If` of the
    file.

    ## Why it matters
    Nothing is wrong: the file decides as Python does. But each branch costs the runtime its
    optimisations across it, and some targets (TensorRT, mobile) take no `If`.

    ## Example
    ```python
    import torch


    class Gate(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x - 1


    model = Gate().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Gate(torch.nn.Module):
        def forward(self, x):
            return torch.where(x.sum() > 0, x * 2, x - 1)


    model = Gate().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Done by itself, and proven on both sides.
    """
    for branch in captured.branches:
        at = branch.location
        if begins_loop(at):  # told of the line that ends it
            continue
        if branch.about_data:
            yield Hit(
                "Python branches on the value of a tensor, and the file has both sides",
                at=whole(at),
                help="use torch.where, if the target takes no If",
            )
        elif at is not None and not is_library(at.file):
            yield Hit(
                "Python branches on a size, and the file has both sides",
                at=whole(at),
                help="keep to sizes on one side of it, if the target takes no If",
            )
