"""A number among the inputs that the file holds as a constant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from onnxpert.core.surrounding import is_unread
from onnxpert.core.types import Captured, Hit, InputLeaf, Severity
from onnxpert.diagnose.rule import rule


@rule("INP123", "constant-number", reads=Captured, severity=Severity.WARNING, since="0.2")
def constant_number(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds Python integers among the example inputs, and floats with which the model does what only
    Python can: the file has no input for them.

    ## Why it matters
    The file computes with the number of the example for ever, and is proven for that number only.
    Of a float that was asked to be dynamic it is an error. One that `forward` never reads is passed over.

    ## Example
    ```python
    import torch


    class Repeats(torch.nn.Module):
        def forward(self, x, times):
            return x.repeat(times)


    model = Repeats().eval()
    args = (torch.randn(3), 2)
    ```

    ## Use instead
    ```python
    import torch


    class Repeats(torch.nn.Module):
        def forward(self, x, times):
            return x.repeat(times)


    model = Repeats().eval()
    args = (torch.randn(3), 2)
    options = {"dynamic_shapes": {"x": None, "times": torch.export.Dim.DYNAMIC}}
    ```

    ## Repair safety
    Not repaired: a number that stays is a fine thing, if it is meant to stay.
    """
    if captured.loaded is None:
        return
    loaded = captured.loaded
    staying = [leaf for leaf in loaded.leaves if _stays(leaf, loaded.constants)]
    # What nobody reads comes with the rest of a record.
    staying = [leaf for leaf in staying if not is_unread(loaded.source, leaf.path)]
    lists = Counter(_list(leaf) for leaf in staying if leaf.name not in loaded.floats)
    for leaf in staying:
        if leaf.name not in loaded.floats and _list(leaf) and lists[_list(leaf)] != 1:
            continue
        yield Hit(
            f"input {leaf.path} is the number {leaf.value!r}, and the file holds it as a constant",
            at=loaded.source,
            help=f"give it as torch.tensor({leaf.value!r}) to make it an input"
            + _or_dynamic(leaf.name, leaf.value),
            severity=Severity.ERROR if leaf.name in loaded.floats else None,
        )
    for name, count in lists.items():
        if name and count > 1:
            yield Hit(
                f"input {name} holds {count} numbers, and the file holds them as constants",
                at=loaded.source,
                help=f"give torch.tensor({name}) to make them an input",
            )


def _list(leaf: InputLeaf) -> str:
    """What a leaf is an item of; "" where it is none."""
    found = re.fullmatch(r"(.+)\[\d+\]", leaf.path)
    return found[1] if found else ""


def _stays(leaf: InputLeaf, constants: frozenset[str]) -> bool:
    if isinstance(leaf.value, bool) or leaf.scalar is not None:
        return False
    return isinstance(leaf.value, int) or (isinstance(leaf.value, float) and leaf.name in constants)


def _or_dynamic(name: str, value: float) -> str:
    if not isinstance(value, int):
        return ""
    return f', or ask for it with dynamic_shapes={{"{name}": Dim.DYNAMIC}}'
