"""A model in training mode, where that changes what it computes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity, replace
from onnxpert.diagnose.modes import is_stopped_by_eval, is_training
from onnxpert.diagnose.rule import rule


@rule("STA303", "training-mode", reads=Captured, severity=Severity.ERROR, since="0.1")
def training_mode(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds models that are in training mode and have layers for which that matters: dropout, batch
    normalisation by batch statistics, stochastic depth.

    ## Why it matters
    The file would drop units at random, or normalise each batch by itself, when it is served.

    ## Example
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).train()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Unsafe: `switch-to-eval` changes what the model computes, so it asks for `repair="all"`.
    """
    if captured.loaded is None or not is_training(captured.loaded):
        return
    first: Hit | None = None
    for node in captured.root.graph.nodes:
        if is_stopped_by_eval(captured, node):
            name = node.target.overloadpacket.__name__
            hit = Hit(
                f"the model is in training mode, and {name.rstrip('_')} acts on it",
                at=of_meta(node.meta),
                help="call model.eval() before exporting, or give --eval to the command",
            )
            first = first or hit
            # One call of eval() is the cure of all: the others are told of.
            same = (hit.message, hit.at) == (first.message, first.at)
            yield hit if same else replace(hit, severity=Severity.INFO)
