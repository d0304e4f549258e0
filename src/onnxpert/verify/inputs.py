"""The example inputs at other sizes and with other values, still of the kind the model knows."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch

from onnxpert.core.dress import dressed_as, undressed
from onnxpert.core.errors import UsageError
from onnxpert.core.types import DimSpec, InputLeaf, Loaded
from onnxpert.targets.target import Array
from onnxpert.verify.arrays import dtype_name, to_array
from onnxpert.verify.file import FileFacts, FileInput
from onnxpert.verify.sizes import evaluate, solve, symbols

_WIDER = dict.fromkeys((torch.uint16, torch.uint32, torch.uint64), torch.int64)


class Values(StrEnum):
    """Where the values of a case come from, the wildest first."""

    WILD = "wild"  # normal, with zeros and outliers; masks with holes
    SHUFFLED = "shuffled"  # drawn from the example's own; normal where that is one value only
    REPEATED = "repeated"  # the example's own, repeated or cropped to the size
    NEGATED = "negated"  # these and those below: the example's own, each changed in one way
    POSITIVE = "positive"
    NEGATIVE = "negative"
    ZERO = "zero"
    ONE = "one"
    LARGE = "large"
    HUGE = "huge"
    SMALL = "small"
    HIGHER = "higher"
    LOWER = "lower"
    NAN = "nan"
    LONE_ZERO = "lone zero"  # a whole number that stands alone is this; the others are shuffled
    LONE_ONE = "lone one"
    LONE_TWO = "lone two"
    EXAMPLE = "example"  # untouched


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs, by what makes it: it can be built again from this and the seed."""

    name: str
    sizes: Mapping[str, int]
    values: Values
    given: int | None = None  # the number of a further example, which is taken as it is


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
        leaves = [leaf.value for leaf in self.loaded.leaves]
        for bound in self.bound:
            value = leaves[bound.position]
            if isinstance(value, torch.Tensor):
                plain = undressed(value)
                shape = self._shape(bound, plain, case.sizes)
                fresh = _valued(plain, shape, case.values, generator)
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


def _valued(
    value: torch.Tensor, shape: Sequence[int], values: Values, generator: torch.Generator
) -> torch.Tensor:
    if values is Values.EXAMPLE:
        return value
    # torch computes with these by way of a wider type only.
    wide = torch.float32 if dtype_name(value).startswith("float8") else _WIDER.get(value.dtype)
    example = value.detach().to(wide or value.dtype)
    sized = _resized(example, shape)
    if values in LONE and is_lone(value):
        return torch.full_like(value, LONE[values])
    if values in _TURNS:
        return _TURNS[values](sized).to(value.dtype)
    if sized.numel() and values is not Values.REPEATED:
        if sized.is_floating_point() or sized.is_complex():
            sized = _floats(example, sized, values, generator)
        elif values is Values.WILD:
            sized = _holed(sized, generator)
        elif sized.shape == example.shape:
            # At another size the order of whole numbers may mean something: positions, offsets.
            sized = _drawn(sized, sized, generator, replace=False)
        ordered = not sized.is_complex() and _is_sorted(example)
        if ordered and (sized.is_floating_point() or _are_edges(example)):
            sized = sized.sort(-1).values
    return sized.to(value.dtype)


LONE = {Values.LONE_ZERO: 0, Values.LONE_ONE: 1, Values.LONE_TWO: 2}


def is_lone(value: Any) -> bool:
    """One whole number: a count or a place, which a model may turn or pick by."""
    if not isinstance(value, torch.Tensor) or value.numel() != 1 or value.dtype is torch.bool:
        return False
    return not (value.is_floating_point() or value.is_complex() or value.is_quantized)


def _one_nan(values: torch.Tensor) -> torch.Tensor:
    if not values.is_floating_point() or not values.numel():
        return values
    spoilt = values.clone()
    spoilt.reshape(-1)[0] = torch.nan
    return spoilt


def _unless_bool(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda values: values if values.dtype is torch.bool else change(values)


_TURNS: dict[Values, Callable[[torch.Tensor], torch.Tensor]] = {
    Values.NEGATED: lambda values: ~values if values.dtype is torch.bool else -values,
    Values.POSITIVE: _unless_bool(torch.abs),
    Values.NEGATIVE: _unless_bool(lambda values: -values.abs()),
    Values.ZERO: torch.zeros_like,
    Values.ONE: torch.ones_like,
    Values.LARGE: _unless_bool(lambda values: values * 100),
    Values.HUGE: _unless_bool(lambda values: values * 10_000),
    Values.SMALL: _unless_bool(lambda values: values * 0.01),
    Values.HIGHER: _unless_bool(lambda values: values + 10),
    Values.LOWER: _unless_bool(lambda values: values - 10),
    Values.NAN: _one_nan,
}


def _is_sorted(example: torch.Tensor) -> bool:
    """Whether the example has an order that the model may rely on: bin edges, times."""
    if example.dim() == 0 or example.shape[-1] < 3:
        return False
    steps = example[..., 1:] >= example[..., :-1]
    return bool(steps.all()) and bool((example[..., 0] < example[..., -1]).all())


def _are_edges(example: torch.Tensor) -> bool:
    """Whole numbers in order, and neither positions that count up by one nor a mask."""
    return bool((example.diff(dim=-1) > 1).any()) and int(example.max()) > 1


def _resized(value: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Repeated from the start, or cropped, along each axis: indices stay valid, masks sensible."""
    for axis, size in enumerate(shape):
        old = value.shape[axis]
        if size == old:
            continue
        if old == 0:
            return torch.zeros(tuple(shape), dtype=value.dtype, device=value.device)
        places = torch.arange(size, device=value.device)
        if value.is_floating_point() or value.is_complex():
            # Each time one further on: with a period, a row that is the wrong one may look right.
            places = places + places // old
        value = value.index_select(axis, places % old)
    return value


def _floats(
    example: torch.Tensor, sized: torch.Tensor, values: Values, generator: torch.Generator
) -> torch.Tensor:
    if not example.numel():  # nothing to draw from
        return _normal(sized, 1.0, generator)
    constant = bool((example == example.reshape(-1)[0]).all())
    masking = not bool(example.isfinite().all()) or float(example.abs().double().max()) > 1e4
    if masking or (values is not Values.WILD and not constant):
        # Drawn from the example, values stay in its range: positive, 0 or 1, minus infinity.
        if not masking and _are_distinct(example):
            return _between(example, sized, generator)
        return _drawn(example, sized, generator, replace=True)
    scale = float(example.abs().double().square().mean().sqrt()) or 1.0
    return _normal(sized, scale, generator, outliers=values is Values.WILD)


def _normal(
    sized: torch.Tensor, scale: float, generator: torch.Generator, *, outliers: bool = False
) -> torch.Tensor:
    wide = torch.complex128 if sized.is_complex() else torch.float64
    fresh = torch.randn(sized.shape, generator=generator, dtype=wide)
    flat = fresh.reshape(-1)
    if outliers and flat.numel() >= 4:
        flat[0], flat[1], flat[-1] = 0.0, 8.0, -8.0
    return _distinct((fresh * scale).to(dtype=sized.dtype, device=sized.device))


def _distinct(drawn: torch.Tensor) -> torch.Tensor:
    """Equal values moved to the next number: by chance two of some thousand floats are the same."""
    if drawn.dtype not in (torch.float32, torch.float64):
        return drawn
    ordered, order = drawn.reshape(-1).sort()
    for _ in range(16):
        same = ordered[1:] == ordered[:-1]
        if not bool(same.any()):
            break
        ordered[1:][same] = torch.nextafter(ordered[1:][same], torch.tensor(torch.inf).to(ordered))
    return torch.empty_like(ordered).scatter_(0, order, ordered).reshape(drawn.shape)


def _are_distinct(example: torch.Tensor) -> bool:
    """Whether no two values of the example are equal, nor are they whole numbers that count."""
    if example.numel() < 3 or example.is_complex() or bool((example == example.round()).all()):
        return False
    return bool(example.unique().numel() == example.numel())  # type: ignore[no-untyped-call]


def _between(
    example: torch.Tensor, sized: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """As distinct as the example is: of equal values nobody knows which is the largest."""
    flat, count = example.reshape(-1).double(), example.numel()
    first = torch.randint(count, sized.shape, generator=generator).to(example.device)
    step = torch.randint(1, count, sized.shape, generator=generator).to(example.device)
    share = torch.rand(sized.shape, generator=generator, dtype=torch.float64).to(example.device)
    one, other = flat[first], flat[(first + step) % count]
    return _distinct((one + (other - one) * share).to(sized.dtype))


def _drawn(
    source: torch.Tensor, sized: torch.Tensor, generator: torch.Generator, *, replace: bool
) -> torch.Tensor:
    count = source.numel()
    if replace:
        index = torch.randint(count, (sized.numel(),), generator=generator)
    else:
        index = torch.randperm(count, generator=generator)
    return source.reshape(-1)[index.to(source.device)].reshape(sized.shape)


def _holed(sized: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Booleans flipped, masks of ones given zeros, other whole numbers in another order.

    The first of each row stays as it is: a mask that hides everything asks for 0 / 0."""
    mask = sized.dtype is torch.bool or bool((sized == 1).all())
    if not mask:
        return _drawn(sized, sized, generator, replace=False)
    flip = torch.rand(sized.shape, generator=generator) < 0.5
    if sized.dim():
        flip[..., 0] = False
    flip = flip.to(sized.device)
    other = sized.logical_not().to(sized.dtype)
    return torch.where(flip, other, sized)
