"""A dynamic dimension that the model takes only within a range."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Bounded, Hit, Severity, Symbol
from onnxpert.diagnose.rule import rule


@rule("SHP203", "bounded-dimension", reads=Bounded, severity=Severity.INFO, since="0.1")
def bounded_dimension(bounded: Bounded) -> Iterator[Hit]:
    """
    ## What it does
    Tells the range of a dynamic dimension, where the model has one: a table of positions with 512
    rows, a kernel that needs 3 pixels. The proof tried the size beyond it, and the model refused.

    ## Why it matters
    The range is a property of the model and holds for the file too. It is written into the file's
    metadata as `onnxpert.dim.<name>`.

    ## Example
    ```python
    import torch


    class Positions(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(16, 4))

        def forward(self, x):
            return x + self.table[: x.shape[1]]


    model = Positions().eval()
    args = (torch.randn(2, 8, 4),)
    options = {"dynamic_shapes": ({1: "sequence"},)}
    ```

    ## Use instead
    ```python
    import torch


    class Positions(torch.nn.Module):
        def forward(self, x):
            return x + torch.arange(x.shape[1])[:, None]


    model = Positions().eval()
    args = (torch.randn(2, 8, 4),)
    options = {"dynamic_shapes": ({1: "sequence"},)}
    ```

    ## Repair safety
    Not repaired: it is how the model is.
    """
    symbol = bounded.symbol
    sizes = _sizes(symbol)
    if bounded.offered:
        yield Hit(
            f"the file takes {symbol.name} of {sizes}; the model may take more",
            at=bounded.location,
            help=f"ask for {symbol.name} by name in dynamic_shapes to learn what is in the way",
        )
        return
    if bounded.narrow:
        yield Hit(
            f"the file takes {symbol.name} of {sizes} only; the model takes more",
            at=bounded.location,
            help="what this line decides holds for these sizes: compute with the size itself",
            severity=Severity.WARNING,
        )
        return
    if symbol.lower == symbol.upper:
        yield Hit(
            f"{symbol.name} was asked to be dynamic, but the model takes {symbol.lower} only",
            at=bounded.location,
            help=f"compute with the size itself, or leave {symbol.name} out of the dynamic shapes",
            severity=Severity.WARNING,
        )
        return
    yield Hit(
        f"the model takes {symbol.name} of {sizes}, and so does the file",
        at=bounded.location,
    )


def _sizes(symbol: Symbol) -> str:
    if symbol.lower == symbol.upper:
        return f"exactly {symbol.lower}"
    ends = [f"at least {symbol.lower}"] if symbol.lower > 1 else []
    ends += [f"at most {symbol.upper}"] if symbol.upper is not None else []
    return " and ".join(ends)
