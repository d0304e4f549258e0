"""The values of one input: the example's own, repeated, turned or drawn anew, still of their kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import torch

from onnxpert.verify.arrays import dtype_name

_WIDER = dict.fromkeys((torch.uint16, torch.uint32, torch.uint64), torch.int64)


class Values(StrEnum):
    """Where the values of a case come from, the wildest first."""

    WILD = "wild"  # normal, with zeros and outliers; masks with holes
    SHUFFLED = "shuffled"  # drawn from the example's own; normal where that is one value only
    NEAR = "near"  # the example's own, each moved by a hundredth or so; whole numbers stay
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
    FILLED = "filled"  # with a number that the case names
    HOLDING = "holding"  # that number in one place
    EXAMPLE = "example"  # untouched


def valued(
    value: torch.Tensor,
    shape: Sequence[int],
    values: Values,
    generator: torch.Generator,
    number: float | None = None,
) -> torch.Tensor:
    """A tensor of that shape with such values."""
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
    if number is not None and values in (Values.FILLED, Values.HOLDING):
        return _with(sized, number, everywhere=values is Values.FILLED).to(value.dtype)
    if values is Values.NEAR:
        sized = _nudged(sized, generator)
    elif sized.numel() and values is not Values.REPEATED:
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


def _with(values: torch.Tensor, number: float, *, everywhere: bool) -> torch.Tensor:
    changed = values.clone(memory_format=torch.contiguous_format)
    (changed if everywhere else changed.reshape(-1)[:1]).fill_(number)
    return changed


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


def _nudged(sized: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """By shares of themselves: a zero stays one, and what is positive stays positive."""
    if not sized.is_floating_point():
        return sized
    share = torch.randn(sized.shape, generator=generator, dtype=torch.float64).clamp(-3, 3)
    return sized * (1 + 0.01 * share).to(dtype=sized.dtype, device=sized.device)


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
