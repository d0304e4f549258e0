"""Dropout that no `eval()` switches off."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.modes import switched_on
from onnxpert.diagnose.rule import rule


@rule("STA311", "unconditional-dropout", reads=Captured, severity=Severity.ERROR, since="0.2")
def unconditional_dropout(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds `F.dropout(x)` in a model that is in evaluation mode: its `training` is True unless it is told
    otherwise.

    ## Why it matters
    The model drops units at random when it is served, in Python as in the file.

    ## Example
    ```python
    import torch


    class Drops(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.dropout(x.relu(), 0.5)


    model = Drops().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch


    class Drops(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.dropout(x.relu(), 0.5, training=self.training)


    model = Drops().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Not repaired: whether it is meant (Monte Carlo dropout), only you know. With
    `randomness="allow"` it is a warning, and the distribution of the results is proven.
    """
    for node, layer in switched_on(captured):
        # A batch norm by the batch's own statistics has a page of its own.
        if layer.name != "batch_norm" and not layer.training:
            yield Hit(
                f"{layer.name} is on although the model is in evaluation mode",
                at=of_meta(node.meta),
                help="pass training=self.training: the default of the function is True",
            )
