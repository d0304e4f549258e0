"""A dimension that was asked to vary and that the model fixes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from onnxpert.core.types import Captured, Guard, Hit, InputKind, Loaded, Severity
from onnxpert.diagnose.rule import rule


@rule("SHP201", "frozen-dimension", reads=Captured, severity=Severity.ERROR, since="0.1")
def frozen_dimension(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds dimensions that were asked to be dynamic and have one fixed size in what the model
    computes, with the line that fixed them. With `"auto"` or `Dim.AUTO` it is only information.

    ## Why it matters
    The file would take the size of the example and no other.

    ## Example
    ```python
    import torch


    class Flattens(torch.nn.Module):
        def forward(self, x):
            return x.reshape(3, 8)


    model = Flattens().eval()
    args = (torch.randn(3, 2, 4),)
    options = {"dynamic_shapes": ({0: "batch"},)}
    ```

    ## Use instead
    ```python
    import torch


    class Flattens(torch.nn.Module):
        def forward(self, x):
            return x.reshape(-1, 8)


    model = Flattens().eval()
    args = (torch.randn(3, 2, 4),)
    options = {"dynamic_shapes": ({0: "batch"},)}
    ```

    ## Repair safety
    Not repaired: the number stands in the model's own code.
    """
    for name, axis, asked, size in _frozen(captured):
        guard = _freezing(captured, size)
        yield Hit(
            f"axis {axis} of input {name} was asked to be dynamic, but the model fixes it to {int(size)}",
            at=guard.location if guard else (captured.loaded.source if captured.loaded else None),
            help=_partner(captured.loaded, name, axis)
            or f"take the size from the tensor ({name}.shape[{axis}], or -1 in a view), "
            f"or leave axis {axis} out of the dynamic shapes",
            notes=(f"the run assumed {guard.expr}",) if guard else (),
            severity=None if asked else Severity.INFO,
        )


def _partner(loaded: Loaded | None, name: str, axis: int) -> str:
    """Where another input has that size on that axis and keeps it: the spec that frees both."""
    leaves = {leaf.name: leaf for leaf in loaded.leaves} if loaded else {}
    own = dict(leaves[name].dims).get(axis) if name in leaves else None
    if own is None or not own.asked:
        return ""
    size = leaves[name].value.shape[axis]
    fixed = [leaf for leaf in leaves.values() if axis < getattr(leaf.value, "ndim", 0)]
    fixed = [
        leaf for leaf in fixed if leaf.value.shape[axis] == size and axis not in dict(leaf.dims)
    ]
    if not fixed:
        return ""
    wish = own.name or ("batch" if axis == 0 else f"{name}_dim_{axis}")
    spec = {leaf.name: {a: s.name or wish for a, s in leaf.dims} for leaf in leaves.values()}
    for leaf in fixed:
        spec[leaf.name][axis] = wish
    told = ", ".join(f"`{leaf.path}`" for leaf in fixed)
    shown = json.dumps({key: dims for key, dims in spec.items() if dims})
    shown = re.sub(r'"(\d+)":', r"\1:", shown)
    return (
        f"{told} has {size} on axis {axis} too and is not dynamic; "
        f"if they go together: dynamic_shapes={shown}"
    )


def _frozen(captured: Captured) -> Iterator[tuple[str, int, bool, Any]]:
    leaves = {leaf.name: leaf for leaf in captured.loaded.leaves} if captured.loaded else {}
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    for entry, node in zip(captured.inputs, placeholders, strict=True):
        leaf = leaves.get(entry.name) if entry.kind is InputKind.USER else None
        for axis, spec in leaf.dims if leaf else ():
            size = node.meta["val"].shape[axis]
            if isinstance(size, int) or size.node.expr.is_number:
                yield entry.name, axis, spec.asked, size


def _freezing(captured: Captured, size: Any) -> Guard | None:
    """The assumption that fixed a size, if the size remembers the symbol it was."""
    if isinstance(size, int):
        return None
    symbol = {str(s) for s in size.node._expr.free_symbols}  # noqa: SLF001  `expr` is the number already
    found = [guard for guard in captured.guards if symbol & set(guard.symbols)]
    equalities = [guard for guard in found if guard.expr.startswith("Eq(")]
    return next(iter(equalities or found), None)
