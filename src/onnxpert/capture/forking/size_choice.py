"""Sizes at which a model answers its questions about sizes as wanted."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import sympy
import torch
from torch.utils._sympy.functions import FloorDiv

from onnxpert.capture.examples.inputs import traced_example
from onnxpert.capture.flat import fed
from onnxpert.core.size_conditions import holding, holds
from onnxpert.core.types import DimSpec, InputLeaf, Loaded

Expr: TypeAlias = Any
Sizes: TypeAlias = Mapping[tuple[int, int | None], int]  # (leaf, axis) -> size
Wish: TypeAlias = tuple[Expr, bool]  # a condition, and whether it shall hold
_LARGEST = 4096  # a size beyond this is never tried
_MOST_TRIALS = 20_000
_NEAREST = 8


@dataclass(frozen=True, slots=True)
class Axis:
    """A size that varies: where it is, and how it follows from a root that others may share."""

    leaf: int  # among those that are fed
    axis: int | None  # None: the leaf is the number itself
    root: str
    spec: DimSpec

    def size(self, root: Any) -> Any:
        return self.spec.scale * root + self.spec.offset


def axes(loaded: Loaded) -> list[Axis]:
    found = []
    for number, leaf in enumerate(fed(loaded)):
        specs: Iterable[tuple[int | None, DimSpec]] = leaf.dims
        if leaf.scalar is not None:
            specs = ((None, leaf.scalar),)
        for axis, spec in specs:
            found.append(Axis(number, axis, spec.name or f"{number}.{axis}", spec))
    return found


def first_sizes(loaded: Loaded) -> dict[tuple[int, int | None], int]:
    """Those of the example, as it is traced."""
    leaves = fed(loaded)
    return {
        (axis.leaf, axis.axis): max(int(leaves[axis.leaf].value), 2)
        if axis.axis is None
        else int(traced_example(leaves[axis.leaf]).shape[axis.axis])
        for axis in axes(loaded)
    }


def resized(loaded: Loaded, sizes: Sizes) -> Loaded:
    """The model with its example at other sizes; a size of 0 or 1 is a constant, as torch has it."""
    position = {id(leaf): number for number, leaf in enumerate(fed(loaded))}

    def changed(leaf: InputLeaf) -> InputLeaf:
        number = position.get(id(leaf))
        mine = {axis: size for (leaf_, axis), size in sizes.items() if leaf_ == number}
        if not mine:
            return leaf
        if leaf.scalar is not None:
            return dataclasses.replace(leaf, value=mine[None])
        shape = [mine.get(axis, size) for axis, size in enumerate(leaf.value.shape)]
        dims = tuple((axis, spec) for axis, spec in leaf.dims if shape[axis] > 1)
        value = torch.zeros(shape, dtype=leaf.value.dtype)
        return dataclasses.replace(leaf, value=value, dims=dims)

    return dataclasses.replace(loaded, leaves=tuple(map(changed, loaded.leaves)))


class Choice:
    """The roots of all sizes, by the symbols that a first run gave them."""

    def __init__(
        self, axes: Sequence[Axis], symbols: Mapping[tuple[int, int | None], Expr]
    ) -> None:
        self._axes = axes
        self._symbols = symbols

    def sizes(
        self,
        now: Sizes,
        wanted: Sequence[Wish],
        liked: Sequence[Wish],
    ) -> dict[tuple[int, int | None], int] | None:
        """Sizes near those of `now` where all that is wanted holds, and most of what is liked."""
        best: dict[tuple[int, int | None], int] | None = None
        most = (False, -1, 0)
        asked = wanted[-1][0].free_symbols if wanted else set()
        ties = _ties([*wanted, *liked])
        several = _several(wanted[-1:])
        for count, free in enumerate(self._candidates(now, wanted, asked)):
            sizes = self._followed(free, now, ties)
            if count > _MOST_TRIALS:
                break
            values = {self._symbols[key]: size for key, size in sizes.items()}
            if not all(holds(condition, values) is answer for condition, answer in wanted):
                continue
            # A size of 1 is a constant to torch, be it a number of blocks, and sizes that are equal by chance may be taken for
            # equal: either would be one case of many.
            large = min(sizes.values(), default=2) > 1
            large = large and all(holds(each, values) is True for each in several)
            pleased = sum(holds(condition, values) is answer for condition, answer in liked)
            score = (large, pleased, len(set(sizes.values())))
            if score > most:
                best, most = sizes, score
            if most == (True, len(liked), len(sizes)):
                break
        return best

    def _candidates(
        self, now: Sizes, wanted: Sequence[Wish], asked: set[Expr]
    ) -> Iterator[dict[tuple[int, int | None], int]]:
        roots: dict[str, list[Axis]] = {}
        for axis in self._axes:
            roots.setdefault(axis.root, []).append(axis)
        moved = [r for r, group in roots.items() if {self._of(a) for a in group} & asked]
        numbers = {abs(int(n)) for e, _ in wanted for n in e.atoms(sympy.Integer)}
        ladders = [self._ladder(roots[root], now, numbers, wanted[-1:]) for root in moved]
        for chosen in itertools.product(*ladders):
            sizes = dict(now)
            for root, value in zip(moved, chosen, strict=True):
                for axis in roots[root]:
                    sizes[axis.leaf, axis.axis] = axis.size(value)
            yield sizes

    def _followed(
        self, sizes: Mapping[tuple[int, int | None], int], now: Sizes, ties: Sequence[set[Expr]]
    ) -> dict[tuple[int, int | None], int]:
        """Sizes that are assumed to be equal stay equal when one of them moves."""
        found = dict(sizes)
        for tie in ties:
            mine = [key for key, symbol in self._symbols.items() if symbol in tie]
            moved = {found[key] for key in mine if found[key] != now[key]}
            if len(moved) == 1:
                found.update(dict.fromkeys(mine, *moved))
        return found

    def _of(self, axis: Axis) -> Expr:
        return self._symbols.get((axis.leaf, axis.axis))

    def _ladder(
        self, group: Sequence[Axis], now: Sizes, numbers: set[int], asked: Sequence[Wish]
    ) -> list[int]:
        """Values of a root: the one it has, those near the numbers in the conditions, the nearest at
        which what is asked last is as wanted; 1 and 0 come last."""
        first = group[0]
        have = (now[first.leaf, first.axis] - first.spec.offset) // first.spec.scale
        near = {number + step for number in numbers | {have} for step in (-1, 0, 1)}
        near |= {number * step for number in numbers for step in (2, 3)} | set(range(2, 10))
        near.update(*(self._nearest(wish, group, now, have) for wish in asked))
        low = first.spec.lower if first.spec.lower is not None else 0
        high = first.spec.upper if first.spec.upper is not None else _LARGEST
        allowed = [
            value
            for value in near | {0, 1}
            if low <= value <= high and all(0 <= axis.size(value) <= _LARGEST for axis in group)
        ]
        return sorted(allowed, key=lambda value: (value < 2, abs(value - have), -value))

    def _nearest(self, wish: Wish, group: Sequence[Axis], now: Sizes, have: int) -> list[int]:
        condition, answer = wish
        roots = np.arange(_LARGEST + 1)
        sizes: dict[Expr, Any] = {symbol: now[key] for key, symbol in self._symbols.items()}
        sizes.update((self._of(axis), axis.size(roots)) for axis in group)
        held = np.broadcast_to(holding(condition, sizes) == answer, roots.shape)
        blocks = [np.broadcast_to(holding(each, sizes), roots.shape) for each in _several([wish])]
        near: list[int] = []
        for found in (roots[held], roots[np.logical_and.reduce([held, *blocks])]):
            near += sorted(found.tolist(), key=lambda root: abs(root - have))[:_NEAREST]
        return near


def _several(wishes: Iterable[Wish]) -> list[Expr]:
    """That there is more than one block of each size that is asked for in blocks."""
    quotients = {part for condition, _ in wishes for part in condition.atoms(FloorDiv)}
    return [sympy.Gt(part, 1, evaluate=False) for part in sorted(quotients, key=str)]


def _ties(wishes: Iterable[Wish]) -> list[set[Expr]]:
    """The sizes that shall be equal, each with all those that equal it."""
    found: list[set[Expr]] = []
    for condition, answer in wishes:
        if answer and isinstance(condition, sympy.Eq) and all(s.is_Symbol for s in condition.args):
            both = set(condition.args)
            met = [tie for tie in found if tie & both]
            found = [tie for tie in found if not tie & both] + [both.union(*met)]
    return found
