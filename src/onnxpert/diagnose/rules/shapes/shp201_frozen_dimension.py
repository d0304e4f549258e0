"""A dimension that was asked to vary and that the model fixes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from onnxpert.core.statement import goes_through
from onnxpert.core.types import (
    Captured,
    DimSpec,
    Guard,
    Hit,
    InputKind,
    Loaded,
    Location,
    Severity,
    Sight,
)
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
    told: set[tuple[str, Location | None]] = set()  # several may carry one name
    for name, axis, spec, size in _frozen(captured):
        asked, guard = spec.asked, _freezing(captured, size)
        if axis is None:
            yield Hit(
                f"the input {name} was asked to vary, but the model fixes it to {int(size)}",
                at=guard.location
                if guard
                else (captured.loaded.source if captured.loaded else None),
                help=f"give it as a tensor, or leave {name} out of the dynamic shapes",
                notes=(f"the run assumed {guard.expr}",) if guard else (),
                severity=None if asked else Severity.INFO,
            )
            continue
        which = f"axis {axis} of input {name}"
        fixed = f"the model fixes it to {int(size)}"
        cure = _partner(captured.loaded, name, axis) or (
            f"{_cure(guard, name, axis)}, or leave axis {axis} out of the dynamic shapes"
        )
        assumed = guard.location if guard else (captured.loaded.source if captured.loaded else None)
        refused = _seen(captured, Sight.REFUSAL, name, axis)
        # What a scout took for a number, and the model itself takes at another size too, is no obstacle.
        matters = asked and (bool(refused) or captured.strategy != "scout")
        for at in refused or [assumed]:
            if _is_looped(captured, at) or (spec.name, at) in told:
                continue
            if spec.name:
                told.add((spec.name, at))
            yield Hit(
                f"{which} was asked to be dynamic, but {fixed}"
                if asked
                else f"{which} cannot vary: {fixed}",
                at=at,
                help=cure if asked else "nothing is to be done unless it should vary",
                notes=(f"the run assumed {_told(captured, guard)}",) if guard else (),
                severity=None if matters else Severity.INFO,
            )
        for at in _seen(captured, Sight.MEETING, name, axis):
            yield Hit(
                f"{which} meets a tensor here whose size is the number {int(size)}",
                at=at,
                help="the error at the line that makes it says what to do; here is what asks for it",
                severity=Severity.INFO,
            )


def _is_looped(captured: Captured, at: Location | None) -> bool:
    """Whether a scout alone took the size for a number, where Python goes round so often or decides
    by it: whatever else stops the capture, that is in a file as a loop or a branch."""
    if captured.strategy != "scout" or at is None:
        return False
    if goes_through(at):
        return True
    asked = (one.location for one in captured.seen if one.sight is Sight.QUESTION)
    return any(place is not None and _line(place) == _line(at) for place in asked)


def _line(at: Location) -> tuple[str, int]:
    return at.file, at.line


def _seen(captured: Captured, sight: Sight, name: str, axis: int) -> list[Location | None]:
    """Where the model itself raises with another size, which is more than what a run assumed, or meets
    what another line fixed."""
    seen = (one for one in captured.seen if one.sight is sight)
    return [one.location for one in seen if one.name == f"{name}.{axis}"]


_RESHAPES = re.compile(r"\b(view|reshape|unflatten|expand|repeat|split|chunk|range|arange)\b")


def _cure(guard: Guard | None, name: str, axis: int) -> str:
    code = guard.location.code if guard and guard.location else ""
    if not code or _RESHAPES.search(code):
        return f"take the size from the tensor ({name}.shape[{axis}], or -1 in a view)"
    return f"cut what it meets there, a table or a mask, to its size ([..., :{name}.shape[{axis}]])"


def _told(captured: Captured, guard: Guard) -> str:
    """The assumption, with the sizes as the user would write them."""
    text = guard.expr
    for symbol, (written, _) in _symbols(captured).items():
        text = re.sub(rf"\b{symbol}\b", written, text)
    sides = re.fullmatch(r"Eq\((.*), (.*)\)", text)
    return f"{sides.group(1)} == {sides.group(2)}" if sides else text


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


def _frozen(captured: Captured) -> Iterator[tuple[str, int | None, DimSpec, Any]]:
    leaves = {leaf.name: leaf for leaf in captured.loaded.leaves} if captured.loaded else {}
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    taken = {entry.name for entry in captured.inputs if entry.kind is InputKind.USER}
    for name, given in leaves.items():  # torch.export leaves out a number that it has fixed
        if given.scalar is not None and name not in taken:
            yield name, None, given.scalar, given.value
    for entry, node in zip(captured.inputs, placeholders, strict=True):
        leaf = leaves.get(entry.name) if entry.kind is InputKind.USER else None
        if leaf is not None and leaf.scalar is not None and _is_number(node.meta["val"]):
            yield entry.name, None, leaf.scalar, node.meta["val"]
        for axis, spec in leaf.dims if leaf else ():
            size = node.meta["val"].shape[axis]
            if _is_number(size):
                yield entry.name, axis, spec, size


def _is_number(size: Any) -> bool:
    return isinstance(size, int) or bool(size.node.expr.is_number)


def _freezing(captured: Captured, size: Any) -> Guard | None:
    """The assumption that fixed a size, if the size remembers the symbol it was."""
    if isinstance(size, int):
        return None
    symbol = {str(s) for s in size.node._expr.free_symbols}  # noqa: SLF001  `expr` is the number already
    symbol = _tied(captured, symbol)
    found = [guard for guard in captured.guards if symbol & set(guard.symbols)]
    equalities = [guard for guard in found if guard.expr.startswith("Eq(")]
    fixing = [guard for guard in equalities if _fixes(captured, guard, symbol)]
    return next(iter(fixing or equalities or found), None)


def _tied(captured: Captured, symbols: set[str]) -> set[str]:
    """With those that a run took to be as large, or to be more by as much: that says nothing of how
    large they are."""
    equations = [g for g in captured.guards if g.expr.startswith("Eq(") and len(g.symbols) > 1]
    while True:
        broken = [g for g in equations if symbols & {*g.symbols} and _fixes(captured, g, symbols)]
        tied = {
            other
            for guard in broken
            for other in set(guard.symbols) - symbols
            if not _fixes(captured, guard, symbols | {other})
        }
        if not tied:
            return symbols
        symbols = symbols | tied


def _fixes(captured: Captured, guard: Guard, symbols: set[str]) -> bool:
    """Whether an equation of a product or a sum breaks when that size is another, all others being
    as in the example; one that holds all the same has fixed some other size."""
    sizes = {name: size + (name in symbols) for name, size in _examples(captured).items()}
    sides = {"Eq": lambda left, right: left == right, "__builtins__": {}}
    try:
        return not eval(guard.expr, sides, sizes)  # a sum torch wrote, over integers
    except Exception:  # a function that only torch knows: it may well be the one
        return True


def _examples(captured: Captured) -> dict[str, int]:
    return {symbol: size for symbol, (_, size) in _symbols(captured).items()}


def _symbols(captured: Captured) -> dict[str, tuple[str, int]]:
    """The dynamic sizes, as they were before anything fixed them: how to write them, how large."""
    found: dict[str, tuple[str, int]] = {}
    leaves = {leaf.name: leaf for leaf in captured.loaded.leaves} if captured.loaded else {}
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    for entry, node in zip(captured.inputs, placeholders, strict=True):
        leaf = leaves.get(entry.name) if entry.kind is InputKind.USER else None
        for axis, _ in leaf.dims if leaf else ():
            size = node.meta["val"].shape[axis]
            written = None if isinstance(size, int) else size.node._expr  # noqa: SLF001
            if written is not None and written.is_Symbol and leaf is not None:
                place = f"{leaf.path}.shape[{axis}]"
                found.setdefault(str(written), (place, int(leaf.value.shape[axis])))
    return found
