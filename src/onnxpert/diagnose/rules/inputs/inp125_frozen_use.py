"""A line that computes or decides with an argument that is no tensor."""

from __future__ import annotations

import re
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
    mixed = {_argument(leaf) for leaf in loaded.leaves if not _is_plain(leaf, loaded)}
    for leaf in loaded.leaves:
        if not _is_plain(leaf, loaded):
            continue
        path = leaf.path if _argument(leaf) in mixed else _argument(leaf)
        for at in uses(loaded.source, path):
            if at.line not in told:
                told.add(at.line)
                made = leaf.name in loaded.numbers
                yield Hit(_said(path, made=made), at=at, help=_advice(path, made=made))


def _argument(leaf: InputLeaf) -> str:
    """The argument that a leaf is in: `options` of `options["dt"]`."""
    found = re.match(r"\w+", leaf.path)
    return found[0] if found else leaf.path


def _is_plain(leaf: InputLeaf, loaded: Loaded) -> bool:
    if leaf.value is None or leaf.scalar is not None:
        return False
    return leaf.name in loaded.numbers or not is_tensor(leaf.value)


def _said(path: str, *, made: bool) -> str:
    if made:
        return f"Python computes with {path}, a float that other exporters freeze"
    return f"Python computes with {path}, which is no tensor: the file does what the example does"


def _advice(path: str, *, made: bool) -> str:
    if made:
        return "nothing to do: it is an input of the file"
    return f"export once for each value of {path}, or make it a tensor"
