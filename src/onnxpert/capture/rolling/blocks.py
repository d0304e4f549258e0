"""Loops over the blocks of a size that varies: they turn as often as a quotient of it says.

`for i in range(padded // 64)` takes a number for the quotient, which holds the size within one block.
So the model is recorded where there are three, four and six, with the size itself left open: what
these runs differ in are the turns, and the numbers that follow from how many there are."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy
import torch
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from onnxpert.capture.flat import fed
from onnxpert.capture.forking.size_choice import Sizes, resized
from onnxpert.capture.guards import environment_of, line_of
from onnxpert.capture.reasoning import example_sizes, has_quotient
from onnxpert.capture.rolling import Record, elements_of, frozen, replayed, short
from onnxpert.capture.rolling.trace import UnalikeError
from onnxpert.core.statement import begins_loop
from onnxpert.core.types import Captured, DimSpec, Loaded, Location

logger = logging.getLogger(__name__)
Expr: TypeAlias = Any  # sympy.Expr
_TRIED = (3, 4, 6)
_LARGEST = 4096
_SKIPPED = 2  # blocks of one element are no blocks; of a block, its third size is like any other


@dataclass(frozen=True, slots=True)
class Blocks:
    """How many blocks there are: an expression in one size."""

    count: Expr
    symbol: Expr
    axes: tuple[tuple[str, int | None, DimSpec], ...]  # those with that size

    def length(self, given: Mapping[str, Any]) -> Any:
        name, axis, _ = self.axes[0]
        size = given[name] if axis is None else given[name].shape[axis]
        return sympy_interp(PythonReferenceAnalysis, {self.symbol: size}, self.count)

    def size(self, blocks: int) -> int:
        """One that has so many."""
        skipped = 0
        for size in range(2, _LARGEST):
            if self.count.xreplace({self.symbol: sympy.Integer(size)}) == blocks:
                if skipped == _SKIPPED:
                    return size
                skipped += 1
            elif skipped:
                break
        raise UnalikeError("no size has so many blocks")


def in_blocks(loaded: Loaded, captured: Captured, record: Record, whole: Record) -> Captured | None:
    """The model with its number of blocks free again, if that is how it is made; `whole` records
    branches too."""
    found = _blocks(captured)
    if found is None:
        return None
    try:
        again = _recorded(loaded, captured, found, record, whole)
    except UnalikeError as error:
        logger.debug("not rolled: %s", error)
        return None
    # As in the package: the model does not take that size, or torch cannot follow a turn.
    except Exception:
        logger.debug("not rolled", exc_info=True)
        return None
    if again is None or frozen(again) or _blocks(again) is not None:
        return None
    return dataclasses.replace(again, loaded=loaded)


def holds_blocks(captured: Captured) -> bool:
    """Whether it is right for one number of blocks of some size alone."""
    environment = environment_of(captured)
    return any(holds_number(guard.expr) for guard in getattr(environment, "guards", ()))


def turning(captured: Captured) -> tuple[Location, ...]:
    """The heads of the loops that turned as often as there were blocks."""
    guards = getattr(environment_of(captured), "guards", ())
    places = (line_of(guard) for guard in guards if holds_number(guard.expr))
    return tuple(place for place in places if place is not None and begins_loop(place))


def asked_of_one(captured: Captured) -> bool:
    """Whether it was also asked, beside the heads of loops, if there is one block: of a single one torch
    makes a special case."""
    guards = getattr(environment_of(captured), "guards", ())
    places = [line_of(guard) for guard in guards if holds_number(guard.expr)]
    return not all(place is not None and begins_loop(place) for place in places)


def with_several(loaded: Loaded, captured: Captured) -> Loaded | None:
    """The example where there are several blocks."""
    found = _blocks(captured)
    try:
        return None if found is None else _at(loaded, captured, found, _TRIED[0])
    except UnalikeError:
        return None


def _recorded(
    loaded: Loaded, captured: Captured, found: Blocks, record: Record, whole: Record
) -> Captured | None:
    examples = [_at(loaded, captured, found, blocks) for blocks in _TRIED]
    first = short(record(examples[0]))
    if _blocks(first) is None:  # nothing turns: one block alone was a case of its own
        return whole(examples[0])
    runs = [first, *map(record, examples[1:])]
    if any(map(frozen, runs)):
        return None
    elements = elements_of(runs, [(blocks,) for blocks in _TRIED])
    return replayed(examples[-1], runs[-1], elements, (found,))


def _blocks(captured: Captured) -> Blocks | None:
    """The one quotient that the run took a number for."""
    sizes = list(_sizes(captured))
    environment = next((size.node.shape_env for *_, size in sizes), None)
    if environment is None:
        return None
    known = example_sizes(environment)
    counts = {
        environment.replace(guard.expr.lhs)
        for guard in environment.guards
        if holds_number(guard.expr) and guard.expr.free_symbols <= known.keys()
    }
    count = next((one for one in counts if _decides(one, counts)), None)
    if count is None or len(count.free_symbols) != 1:
        return None
    (symbol,) = count.free_symbols
    axes = tuple(
        (name, axis, spec) for name, _, axis, spec, size in sizes if size.node.expr == symbol
    )
    return Blocks(count, symbol, axes) if axes else None


def _decides(count: Expr, others: Iterable[Expr]) -> bool:
    """Whether all others follow from it, as the elements of all blocks do from how many there are."""
    known = sympy.Dummy(integer=True)
    return all(other.xreplace({count: known}).free_symbols == {known} for other in others)


def holds_number(guard: Expr) -> bool:
    """Whether a guard fixes a quotient; one below two is a constant to torch, as a size is."""
    fixes = isinstance(guard, sympy.Eq) or (isinstance(guard, sympy.Lt) and guard.rhs == 2)
    if not fixes or not guard.rhs.is_Integer or not has_quotient(guard.lhs):
        return False
    many = {quotient: sympy.Integer(_LARGEST) for quotient in guard.lhs.atoms(FloorDiv)}
    return bool(guard.xreplace(many) != sympy.true)  # that one of them is 1 at most, fixes nothing


def _sizes(captured: Captured) -> Iterator[tuple[str, int, int, DimSpec, torch.SymInt]]:
    """The sizes that vary: of which leaf, its number among those that are fed, and along which axis."""
    assert captured.loaded is not None
    nodes = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    values = {
        entry.name: node.meta["val"] for entry, node in zip(captured.inputs, nodes, strict=True)
    }
    for number, leaf in enumerate(fed(captured.loaded)):
        for axis, spec in leaf.dims:
            value = values.get(leaf.name)
            size: Any = None if value is None else value.shape[axis]
            if isinstance(size, torch.SymInt) and not size.node.expr.is_number:
                yield leaf.name, number, axis, spec, size


def _at(loaded: Loaded, captured: Captured, found: Blocks, blocks: int) -> Loaded:
    """The example with so many blocks; what is tied to their size moves along."""
    moved = {found.symbol: sympy.Integer(found.size(blocks))}
    sizes: Sizes = {
        (number, axis): int(size.node.expr.xreplace(moved))
        for _, number, axis, _, size in _sizes(captured)
        if size.node.expr.free_symbols == {found.symbol}
    }
    return resized(loaded, sizes)
