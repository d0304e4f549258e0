"""A lazy layer that has not seen an input yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.parts import called_at, parts
from onnxpert.diagnose.rule import rule


@rule("CAP005", "unmade-weights", reads=Loaded, severity=Severity.ERROR, since="0.2")
def unmade_weights(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds lazy layers (`LazyLinear`, `LazyConv2d`) whose weights have no shape yet.

    ## Why it matters
    Their weights are made at random by the first call, so that there is nothing to export yet.

    ## Example
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU()).eval()
    args = (torch.randn(2, 3),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.ReLU()).eval()
    args = (torch.randn(2, 3),)
    model(*args)
    ```

    ## Repair safety
    Not repaired: weights that were never trained are hardly what is to be exported.
    """
    for path, module in parts(loaded):
        if any(type(tensor).__name__.startswith("Uninitialized") for tensor in _own(module)):
            yield Hit(
                f"{path or 'the model'} is a lazy layer without weights",
                at=called_at(loaded, path),
                help="call the model once, or load its checkpoint, before exporting",
            )


def _own(module: Any) -> Iterator[Any]:
    yield from module.parameters(recurse=False)
    yield from module.buffers(recurse=False)
