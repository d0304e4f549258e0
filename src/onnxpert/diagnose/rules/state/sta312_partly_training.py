"""A layer in training mode inside a model in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.modes import switched_on
from onnxpert.diagnose.rule import rule


@rule("STA312", "partly-training", reads=Captured, severity=Severity.ERROR, since="0.2")
def partly_training(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds layers that are in training mode, and act on it, while the model as a whole is in evaluation
    mode: a part that was assigned or unfrozen after `model.eval()`.

    ## Why it matters
    The file would drop units at random, or normalise each batch by itself, when it is served.

    ## Example
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).eval()
    model[1].train()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Unsafe: `switch-to-eval` changes what the model computes, so it asks for `repair="all"`.
    """
    for node, layer in switched_on(captured):
        if layer.training and not layer.always:
            yield Hit(
                f"{layer.path} is in training mode while the model is not, and {layer.name} acts on it",
                at=of_meta(node.meta),
                help="call model.eval() last, after every part is in place",
            )
