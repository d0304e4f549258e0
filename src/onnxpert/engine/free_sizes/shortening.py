"""Dimensions that nobody named, of one length in the example, of which one may be 1 in another run.

"auto" makes them one, and a runtime does not ask whether they are: `y` with one row is taken by the
file of `if len(y) != len(x): y = y.expand(len(x), -1) * 2` as well, which knows nothing of that side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnxpert.capture.faking.unlooked import takes_for_granted
from onnxpert.core.types import Captured, Loaded, Lowered, Symbol, Tied, Verified, replace
from onnxpert.diagnose import catalogue as rules
from onnxpert.engine.free_sizes.merging import resized
from onnxpert.engine.walk import Walk
from onnxpert.verify import first_difference

_MOST_INPUTS = 4  # that share a size: each is another call of the model

_Ones = Mapping[tuple[str, int], int]


def shortened(walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified) -> Loaded | None:
    """The model with an example in which one of them is 1, where the file does something else then.
    What was said of them, that the file needs them to be equal, need not be true of another file."""
    captured = walk.captured
    if not isinstance(captured, Captured) or takes_for_granted(captured) or verified.stateful:
        return None
    ways = list(_ways(loaded, lowered))
    tried = [(ones, sizes) for ones in ways for sizes in (ones, _halved(lowered, ones))]
    many = [[resized(leaf, sizes) for leaf in loaded.leaves] for _, sizes in tried]
    found = first_difference(loaded, captured, many) if ways else None
    if found is None:
        return None
    leaves = tuple(_apart(leaf, tried[found][0]) for leaf in loaded.leaves)
    args, kwargs = loaded.rebuild([leaf.value for leaf in leaves])
    own = tuple(leaf.value for leaf in loaded.leaves)
    examples = (*loaded.examples, own)
    walk.findings = [each for each in walk.findings if rules()[each.rule].reads is not Tied]
    return replace(loaded, leaves=leaves, args=args, kwargs=kwargs, examples=examples)  # type: ignore[no-any-return]


def _ways(loaded: Loaded, lowered: Lowered) -> Iterator[_Ones]:
    """For each input that shares a size with another one: that size as 1 there."""
    specs = {(leaf.name, axis): spec for leaf in loaded.leaves for axis, spec in leaf.dims}
    for symbol in lowered.symbols:
        offered = all(
            (spec := specs.get(source)) is not None
            and not spec.asked
            and (spec.scale, spec.offset) == (1, 0)
            for source in symbol.sources
        )
        names = dict.fromkeys(name for name, _ in symbol.sources)
        if offered and symbol.example > 1 and 2 <= len(names) <= _MOST_INPUTS:
            yield from (dict.fromkeys(_of(symbol, name), 1) for name in names)


def _halved(lowered: Lowered, ones: _Ones) -> _Ones:
    """The same with the sizes that have nothing to do with it smaller: it may be compared with them."""
    shared = {
        symbol.name for symbol in lowered.symbols if not ones.keys().isdisjoint(symbol.sources)
    }
    others = [symbol for symbol in lowered.symbols if symbol.name not in shared]
    halves = {
        source: max(symbol.example // 2, symbol.lower, 1)
        for symbol in others
        for source in symbol.sources
    }
    return {**halves, **ones}


def _of(symbol: Symbol, name: str) -> list[tuple[str, int]]:
    return [source for source in symbol.sources if source[0] == name]


def _apart(leaf: Any, ones: _Ones) -> Any:
    """A size that is 1 is shown to the capture as one where somebody asked for it."""
    dims = tuple(
        (axis, replace(spec, name="", asked=True) if (leaf.name, axis) in ones else spec)
        for axis, spec in leaf.dims
    )
    return replace(leaf, value=resized(leaf, ones), dims=dims)
