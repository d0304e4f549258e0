"""Dimensions that have two names with the user and became one size in the capture."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from onnxpert.capture.faking.unlooked import takes_for_granted
from onnxpert.capture.flat import Flat, fed, owner
from onnxpert.capture.state import untouched
from onnxpert.core.trust import nothing_on_trust
from onnxpert.core.types import (
    Boundary,
    Captured,
    Crossed,
    Guard,
    InputLeaf,
    Loaded,
    Lowered,
    Merged,
    Row,
    Symbol,
    Verdict,
    replace,
)

Source = tuple[str, int]  # input, axis


def merged(captured: object, loaded: Loaded, lowered: Lowered) -> list[Merged]:
    """Each two of them, with what the model says to one that is longer, or else one that is 1."""
    if not isinstance(captured, Captured) or not callable(loaded.module):
        return []
    may_run = not takes_for_granted(captured)
    found = []
    for symbol in lowered.symbols:
        groups = _groups(loaded, symbol)
        for pair in itertools.combinations(groups, 2):
            guard = _guard(captured, *(groups[name][0] for name in pair))
            sizes, refusal = _apart(loaded, symbol, groups, pair, may_run=may_run)
            place = guard.location if guard is not None else None
            assumed = guard.expr if guard is not None else ""
            found.append(Merged(pair, symbol.name, sizes, refusal, place, assumed))
    return found


def crossing(one: Merged) -> Crossed | None:
    """The failure that two sizes are which the model lets differ as they like."""
    if one.refusal or 1 in one.sizes.values():
        return None
    first, second = one.names
    told = Guard(f"{first} == {second}", (one.kept,), one.location)
    case = ", ".join(f"{name}={size}" for name, size in one.sizes.items())
    detail = "the file has one size for both"
    row = Row(case, "", one.sizes, Verdict.FAIL, detail=detail)
    return Crossed(Boundary({}, told, assumed=one.assumed), row, told.expr)


def broadcast(loaded: Loaded, found: Sequence[Merged]) -> Loaded | None:
    """The model with an example in which one is 1, where it takes that: then the capture is told that
    the two differ. The user's own example is one of those that the file has to be right at."""
    for one in found:
        if one.refusal or 1 not in one.sizes.values():
            continue
        named = {
            (leaf.name, axis): spec
            for leaf in loaded.leaves
            for axis, spec in leaf.dims
            if spec.name in one.names
        }
        if any((spec.scale, spec.offset) != (1, 0) for spec in named.values()):
            continue
        sizes = {place: one.sizes[spec.name] for place, spec in named.items()}
        leaves = tuple(replace(leaf, value=resized(leaf, sizes)) for leaf in loaded.leaves)
        args, kwargs = loaded.rebuild([leaf.value for leaf in leaves])
        own = tuple(leaf.value for leaf in loaded.leaves)
        examples = (*loaded.examples, own)
        return replace(loaded, leaves=leaves, args=args, kwargs=kwargs, examples=examples)  # type: ignore[no-any-return]
    return None


def _apart(
    loaded: Loaded,
    symbol: Symbol,
    groups: Mapping[str, list[Source]],
    pair: tuple[str, str],
    *,
    may_run: bool,
) -> tuple[Mapping[str, int], str]:
    """Two sizes that differ and that the model takes, or what it says to the first that it does not."""
    one, other = pair
    size = max(symbol.example, 2)
    said = "" if may_run else "a kernel of torch's takes it for granted that they are one"
    ways = ({one: size, other: size + 1}, {one: size, other: 1}, {one: 1, other: size})
    for way in ways if may_run else ():
        sizes = dict.fromkeys(symbol.sources, size)
        for name, length in way.items():
            sizes.update(dict.fromkeys(groups[name], length))
        refusal = _refusal(loaded, sizes)
        if not refusal:
            return way, ""
        said = said or refusal
    return {one: size, other: size + 1}, said


def _groups(loaded: Loaded, symbol: Symbol) -> dict[str, list[Source]]:
    """The user's names for one size, with where each stands."""
    specs = {(leaf.name, axis): spec for leaf in loaded.leaves for axis, spec in leaf.dims}
    found: dict[str, list[Source]] = {}
    for source in symbol.sources:
        spec = specs.get(source)
        if spec is not None and spec.asked and spec.name and (spec.scale, spec.offset) == (1, 0):
            found.setdefault(spec.name, []).append(source)
    return found


def _refusal(loaded: Loaded, sizes: Mapping[Source, int]) -> str:
    """What the user's model says to its example at these sizes; nothing where it takes it."""
    import torch

    values = [resized(leaf, sizes) for leaf in fed(loaded)]
    call: Any = Flat(loaded)
    with (
        untouched(owner(loaded.module), buffers=True),
        nothing_on_trust(),
        warnings.catch_warnings(),
        torch.no_grad(),
    ):
        warnings.simplefilter("ignore")
        try:
            call(*values)
        except Exception as error:  # what a model refuses, its file need not take
            return f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return ""


def resized(leaf: InputLeaf, sizes: Mapping[Source, int]) -> Any:
    """The example's own values, as often as it takes."""
    import torch

    value = copy.deepcopy(leaf.value)
    for (name, axis), size in sizes.items():
        if name == leaf.name and value.shape[axis]:
            value = value.index_select(axis, torch.arange(size) % value.shape[axis])
    return value


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
