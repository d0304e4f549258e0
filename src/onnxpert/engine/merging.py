"""Dimensions that have two names with the user and became one size in the capture."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from onnxpert.capture.flat import Flat, fed, owner
from onnxpert.capture.state import untouched
from onnxpert.core.types import (
    Boundary,
    Captured,
    Crossed,
    Guard,
    Loaded,
    Lowered,
    Row,
    Symbol,
    Verdict,
)

Source = tuple[str, int]  # input, axis


def merged(captured: object, loaded: Loaded, lowered: Lowered) -> Iterator[Crossed]:
    """Each two that the model itself lets differ: there the file does not follow it."""
    if not isinstance(captured, Captured) or not callable(loaded.module):
        return
    for symbol in lowered.symbols:
        groups = _groups(loaded, symbol)
        for one, other in itertools.combinations(groups, 2):
            size = max(symbol.example, 2)
            sizes = dict.fromkeys(symbol.sources, size)
            sizes.update(dict.fromkeys(groups[other], size + 1))
            if _runs(loaded, sizes):
                guard = _guard(captured, groups[one][0], groups[other][0])
                told = Guard(f"{one} == {other}", (symbol.name,), guard.location if guard else None)
                row = Row(
                    f"{one}={size}, {other}={size + 1}",
                    "",
                    {one: size, other: size + 1},
                    Verdict.FAIL,
                    detail="the file has one size for both",
                )
                boundary = Boundary({}, told, assumed=guard.expr if guard else "")
                yield Crossed(boundary, row, told.expr)


def _groups(loaded: Loaded, symbol: Symbol) -> dict[str, list[Source]]:
    """The user's names for one size, with where each stands."""
    specs = {(leaf.name, axis): spec for leaf in loaded.leaves for axis, spec in leaf.dims}
    found: dict[str, list[Source]] = {}
    for source in symbol.sources:
        spec = specs.get(source)
        if spec is not None and spec.asked and spec.name and (spec.scale, spec.offset) == (1, 0):
            found.setdefault(spec.name, []).append(source)
    return found


def _runs(loaded: Loaded, sizes: Mapping[Source, int]) -> bool:
    """Whether the user's model takes its example at these sizes."""
    import torch

    values = []
    for leaf in fed(loaded):
        value = copy.deepcopy(leaf.value)
        for (name, axis), size in sizes.items():
            if name == leaf.name and value.shape[axis]:
                value = value.index_select(axis, torch.arange(size) % value.shape[axis])
        values.append(value)
    call: Any = Flat(loaded)
    with untouched(owner(loaded.module), buffers=True), warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            call(*values)
        except Exception:  # what a model refuses, its file need not take
            return False
    return True


def _guard(captured: Captured, *sources: Source) -> Guard | None:
    """The assumption that made two sizes one."""
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    shapes = {
        entry.name: getattr(node.meta["val"], "shape", ())
        for entry, node in zip(captured.inputs, placeholders, strict=True)
    }
    one, other = (
        str(getattr(getattr(shapes[name][axis], "node", None), "_expr", ""))
        for name, axis in sources
    )
    wanted = {f"Eq({one}, {other})", f"Eq({other}, {one})"}
    return next((guard for guard in captured.guards if guard.expr in wanted), None)
