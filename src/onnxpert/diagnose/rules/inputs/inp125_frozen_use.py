"""A line that computes or decides with an argument that is no tensor."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.flatten import is_tensor
from onnxpert.core.surrounding import uses
from onnxpert.core.types import Hit, InputLeaf, Loaded, Severity
from onnxpert.diagnose.rule import rule


@rule("INP125", "frozen-use", reads=Loaded, severity=Severity.INFO, since="0.3")
def frozen_use(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Tells of the lines of `forward` that compute, choose or decide with an argument that is no tensor: a
    word, a flag, a number, an object. INP113, INP116 and INP123 tell of the argument itself.

    ## Why it matters
    What such a line does with the example's value is what the file does with every input: of a branch it
    has the side that the example takes, of a table of layers the one that the example names.

    ## Example
    ```python
    import torch


    class Heads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = torch.nn.ModuleDict(
                {"cats": torch.nn.Linear(3, 2), "dogs": torch.nn.Linear(3, 4)}
            )

        def forward(self, x, task):
            return self.heads[task](x)


    model = Heads().eval()
    args = (torch.randn(1, 3), "cats")
    ```

    ## Use instead
    ```python
    import torch


    class Cats(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.head(x)


    model = Cats().eval()
    args = (torch.randn(1, 3),)
    ```

    ## Repair safety
    Nothing to repair, if the argument is a setting.
    """
    told: set[int] = set()
    for leaf in loaded.leaves:
        for at in uses(loaded.source, leaf.path) if _is_plain(leaf, loaded) else ():
            if at.line not in told:
                told.add(at.line)
                yield Hit(_said(leaf, loaded), at=at, help=_advice(leaf, loaded))


def _is_plain(leaf: InputLeaf, loaded: Loaded) -> bool:
    if leaf.value is None or leaf.scalar is not None:
        return False
    return leaf.name in loaded.numbers or not is_tensor(leaf.value)


def _said(leaf: InputLeaf, loaded: Loaded) -> str:
    if leaf.name in loaded.numbers:
        return f"Python computes with {leaf.path}, a float that other exporters freeze"
    return f"Python computes with {leaf.path}, which is no tensor: the file does what the example does"


def _advice(leaf: InputLeaf, loaded: Loaded) -> str:
    if leaf.name in loaded.numbers:
        return "nothing to do: it is an input of the file"
    return f"export once for each value of {leaf.path}, or make it a tensor"
