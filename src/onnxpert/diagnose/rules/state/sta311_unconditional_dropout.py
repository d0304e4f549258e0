"""Dropout that no `eval()` switches off."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.modes import is_training, switched_on
from onnxpert.diagnose.parts import parts
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
    whole = captured.loaded is not None and is_training(captured.loaded)
    every = parts(captured.loaded) if captured.loaded is not None else ()
    layers = {path for path, part in every if type(part).__module__.startswith("torch.nn.modules")}
    for node, layer in switched_on(captured):
        # A batch norm by the batch's own statistics has a page of its own.
        if layer.name == "batch_norm" or layer.training:
            continue
        what = layer.name if layer.name not in _WITHIN else f"the dropout of {layer.name}"
        switched = _PASS if layer.path not in layers else _LEAVE
        yield Hit(
            f"{what} is on "
            + ("in evaluation mode too" if whole else "although the model is in evaluation mode"),
            at=of_meta(node.meta),
            help=_WITHIN.get(layer.name, switched),
        )


_PASS = "pass training=self.training: the default of the function is True"
_LEAVE = "forward puts this layer into training mode: leave that out"
_WITHIN = {
    "scaled_dot_product_attention": (
        "pass dropout_p=p if self.training else 0.0: the function knows of no mode"
    )
}
