"""The example inputs at other sizes and with other values, still of the kind the model knows."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from onnxpert.core.dress import dressed_as, undressed
from onnxpert.core.errors import UsageError
from onnxpert.core.types import DimSpec, InputLeaf, Loaded
from onnxpert.targets.target import Array
from onnxpert.verify.arrays import dtype_name, to_array
from onnxpert.verify.file import FileFacts, FileInput
from onnxpert.verify.sizes import evaluate, solve, symbols
from onnxpert.verify.values import Values, valued


@dataclass(frozen=True, slots=True)
class Aim:
    """The one input that a case changes; the others keep what they have in the example."""

    leaf: str
    number: float | None = None  # that it is filled with, or holds


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs, by what makes it: it can be built again from this and the seed."""

    name: str
    sizes: Mapping[str, int]
    values: Values
    given: int | None = None  # the number of a further example, which is taken as it is
    aim: Aim | None = None
    # In the place of what the example has: it was searched for, and nothing makes it again.
    found: Mapping[str, torch.Tensor] | None = field(default=None, compare=False, repr=False)

    def values_of(self, leaf: str) -> Values:
        return self.values if self.aim is None or self.aim.leaf == leaf else Values.REPEATED


@dataclass(frozen=True, slots=True)
class Bound:
    """A graph input and the leaf that feeds it, each dimension by its expression."""

    input: FileInput
    position: int  # in `Loaded.leaves`
    dims: tuple[int | str, ...]  # of the leaf; a scalar has one, which is its value


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a file tied to the example of the user's."""

    loaded: Loaded
    bound: tuple[Bound, ...]
    example: Mapping[str, int]  # symbol -> its size in the example
    ranges: Mapping[str, tuple[int, int | None]]  # as asked, else as the file says
    asked: Mapping[str, tuple[int, int | None]]  # only as asked

    def build(self, case: Case, seed: int) -> tuple[Any, ...]:
        """A value for every leaf of the user's inputs."""
        if case.given is not None:
            values = self.loaded.examples[case.given]
            rest = self.loaded.leaves[len(values) :]  # state that became an input
            return (*values, *(leaf.value for leaf in rest))
        generator = torch.Generator().manual_seed(seed + zlib.crc32(case.name.encode()))
        number = case.aim.number if case.aim is not None else None
        found = case.found or {}
        leaves = [found.get(leaf.name, leaf.value) for leaf in self.loaded.leaves]
        for bound in self.bound:
            value = leaves[bound.position]
            if isinstance(value, torch.Tensor):
                plain = undressed(value)
                shape = self._shape(bound, plain, case.sizes)
                kind = case.values_of(self.loaded.leaves[bound.position].name)
                fresh = valued(plain, shape, kind, generator, number)
                leaves[bound.position] = dressed_as(self._within(fresh, plain, case.sizes), value)
            elif all(name in case.sizes for name in symbols(str(bound.dims[0]))):
                leaves[bound.position] = evaluate(bound.dims[0], case.sizes)
        return tuple(leaves)

    def _within(
        self, fresh: torch.Tensor, value: torch.Tensor, sizes: Mapping[str, int]
    ) -> torch.Tensor:
        """Whole numbers that fit into a size of the example fit into the smaller one too.

        An index or a length that points outside is refused at best: some of torch's own kernels
        write where it points."""
        real = fresh.is_floating_point() or fresh.is_complex() or fresh.dtype is torch.bool
        if real or not fresh.numel() or not value.numel():
            return fresh
        top = int(value.to(torch.int64).max())
        smaller = [
            (old, sizes[name]) for name, old in self.example.items() if sizes.get(name, old) < old
        ]
        limits = [new - (top < old) for old, new in smaller if 1 < top <= old]
        if not limits:
            return fresh
        return fresh.to(torch.int64).clamp(max=max(min(limits), 0)).to(fresh.dtype)

    def sizes_of(self, leaves: Sequence[Any]) -> Mapping[str, int]:
        """The size of each symbol in these inputs."""
        seen: list[tuple[str, int]] = []
        for bound in self.bound:
            value = leaves[bound.position]
            sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
            pairs = zip(bound.dims, sizes, strict=True)
            seen += [(dim, size) for dim, size in pairs if isinstance(dim, str)]
        return {**self.example, **solve(seen)}

    def resized(self, change: Mapping[str, int]) -> Mapping[str, int]:
        """The example's sizes with some changed, and each window of a cache as long as what it saw."""
        sizes = {**self.example, **change}
        for window in self.loaded.windows:
            own, seen = self._dim(window.leaf, window.axis), self._dim(*window.seen)
            if own not in sizes or seen not in sizes:
                continue
            new = 0 if window.new is None else evaluate(self._dim(*window.new), sizes)
            wide = own in change and seen not in change
            count = sizes[own] if wide else sizes[seen] - new
            count = count if count > 0 else self.example[own]
            sizes |= {seen: count + new, own: min(count, window.most)}
        return sizes

    def exist(self, sizes: Mapping[str, int]) -> bool:
        """Whether all that follows from these are sizes: `10 - batch` is none for every batch."""
        dims = (dim for bound in self.bound for dim in bound.dims if isinstance(dim, str))
        known = (dim for dim in dims if all(name in sizes for name in symbols(dim)))
        return all(evaluate(dim, sizes) >= 0 for dim in known)

    def full_windows(self) -> dict[str, int]:
        """Sizes at which every window of a cache has let something go."""
        found: dict[str, int] = {}
        for window in self.loaded.windows:
            seen, new = self._dim(*window.seen), window.new
            if isinstance(seen, str) and seen in self.example:
                more = 0 if new is None else evaluate(self._dim(*new), self.example)
                found[seen] = max(found.get(seen, 0), window.most + 2 + more)
        return found

    def _dim(self, leaf: str, axis: int) -> int | str:
        return next(
            each.dims[axis] for each in self.bound if self.loaded.leaves[each.position].name == leaf
        )

    def feeds(self, leaves: Sequence[Any]) -> dict[str, Array]:
        """The same values as the file takes them."""
        return {bound.input.name: _fed(leaves[bound.position], bound.input) for bound in self.bound}

    def _shape(self, bound: Bound, value: torch.Tensor, sizes: Mapping[str, int]) -> list[int]:
        shape = list(value.shape)
        for axis, dim in enumerate(bound.dims):
            if isinstance(dim, str) and all(name in sizes for name in symbols(dim)):
                shape[axis] = evaluate(dim, sizes)
        return shape


def bind(loaded: Loaded, facts: FileFacts) -> Inputs:
    """Match the file's inputs with the leaves; UsageError when there is no telling which is which."""
    pairs = _matched(loaded, facts)
    bound = []
    seen: list[tuple[str, int]] = []
    ranges = dict(facts.ranges)
    for given, position in pairs:
        leaf = loaded.leaves[position]
        dims = _dims(given, leaf)
        bound.append(Bound(given, position, dims))
        sizes = leaf.value.shape if isinstance(leaf.value, torch.Tensor) else (leaf.value,)
        seen += [(dim, size) for dim, size in zip(dims, sizes, strict=True) if isinstance(dim, str)]
        if leaf.scalar is not None:
            low, high = leaf.scalar.lower, leaf.scalar.upper
            ranges.setdefault(_scalar_name(leaf, leaf.scalar), (1 if low is None else low, high))
    asked = _asked_ranges(loaded, bound)
    return Inputs(loaded, tuple(bound), solve(seen), ranges | asked, asked)


def _asked_ranges(loaded: Loaded, bound: Sequence[Bound]) -> dict[str, tuple[int, int | None]]:
    """The sizes the user asked for. A file that was narrowed to fewer must not pass for less."""
    ranges: dict[str, tuple[int, int | None]] = {}
    for item in bound:
        for axis, spec in loaded.leaves[item.position].dims:
            name = item.dims[axis]
            if spec.scale != 1 or spec.offset or symbols(str(name)) != (name,):
                continue
            if not spec.asked and spec.lower is None and spec.upper is None:
                continue
            low, high = ranges.get(str(name), (1, None))
            highs = [end for end in (high, spec.upper) if end is not None]
            ranges[str(name)] = (max(low, spec.lower or 1), min(highs, default=None))
    return ranges


def _matched(loaded: Loaded, facts: FileFacts) -> list[tuple[FileInput, int]]:
    """By position, as every exporter keeps it; by name where the positions cannot be right."""
    fed = [
        position
        for position, leaf in enumerate(loaded.leaves)
        if isinstance(leaf.value, torch.Tensor) or leaf.scalar is not None
    ]
    by_name = {loaded.leaves[position].name: position for position in fed}
    named = all(given.name in by_name for given in facts.inputs)
    if len(fed) == len(facts.inputs):
        pairs = list(zip(facts.inputs, fed, strict=True))
        if not named or all(_fits(given, loaded.leaves[at]) for given, at in pairs):
            return pairs
    if named:
        return [(given, by_name[given.name]) for given in facts.inputs]
    raise UsageError(
        f"the file has {len(facts.inputs)} inputs, the example {len(fed)} tensors",
        f"the file takes {', '.join(given.name for given in facts.inputs) or 'nothing'}; "
        f"the example has {', '.join(by_name) or 'nothing'}",
    )


def _fits(given: FileInput, leaf: InputLeaf) -> bool:
    if not isinstance(leaf.value, torch.Tensor):
        return given.dtype == "int64"
    rank = leaf.value.dim() + (leaf.value.is_complex() and not given.dtype.startswith("complex"))
    return len(given.dims) == rank and (
        given.dtype == dtype_name(leaf.value) or leaf.value.is_complex()
    )


def _dims(given: FileInput, leaf: InputLeaf) -> tuple[int | str, ...]:
    if not isinstance(leaf.value, torch.Tensor):
        assert leaf.scalar is not None  # a number is bound only when it was asked to vary
        name = _scalar_name(leaf, leaf.scalar)
        scaled = leaf.scalar.scale != 1 or leaf.scalar.offset != 0
        return (f"{leaf.scalar.scale}*{name} + {leaf.scalar.offset}" if scaled else name,)
    shape = leaf.value.shape
    # A dimension without a name varies by itself; one that the file lacks keeps its size.
    named = [f"{given.name}[{axis}]" if dim is None else dim for axis, dim in enumerate(given.dims)]
    return tuple(named[axis] if axis < len(named) else size for axis, size in enumerate(shape))


def _scalar_name(leaf: InputLeaf, spec: DimSpec) -> str:
    return spec.name or leaf.name


def _fed(value: Any, given: FileInput) -> Array:
    import numpy as np

    if not isinstance(value, torch.Tensor):
        return np.full((1,) * len(given.dims), value, dtype=given.dtype)
    if value.is_complex() and not given.dtype.startswith("complex"):
        value = torch.view_as_real(value.resolve_conj())
    return to_array(value)
