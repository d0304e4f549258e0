"""A model in training mode, where that changes what it computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule

# Which argument of an operator says "training", and which makes it matter (a probability of 0 does not).
_FLAGS = {
    "dropout": 2, "dropout_": 2, "feature_dropout": 2, "feature_dropout_": 2, "alpha_dropout": 2,
    "native_dropout": 2, "feature_alpha_dropout": 2, "batch_norm": 5, "instance_norm": 5, "rrelu": 3,
}  # fmt: skip
_RANDOM = {"bernoulli", "bernoulli_", "native_dropout"}


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
    if captured.loaded is None or not captured.loaded.training:
        return
    for node in captured.root.graph.nodes:
        packet = getattr(node.target, "overloadpacket", None)
        name = getattr(packet, "__name__", "")
        if name in _RANDOM or (name in _FLAGS and _is_on(name, node.args)):
            yield Hit(
                f"the model is in training mode, and {name.rstrip('_')} acts on it",
                at=of_meta(node.meta),
                help="call model.eval() before exporting",
            )


def _is_on(name: str, args: tuple[Any, ...]) -> bool:
    place = _FLAGS[name]
    on = len(args) > place and bool(args[place])
    return on and not ("dropout" in name and args[1] == 0)
