"""Random results compared as what they are: many draws of the model against many of the file.

A draw is summed up in numbers of its own (some of its elements; how many there are, their mean,
deviation and extremes). Draws are independent of each other, whatever the elements of one are, so a two-sample
Kolmogorov-Smirnov test may be made of each number; its threshold all but never misfires."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DRAWS = 1000
FEWEST = 50
BUDGET_SECONDS = 5.0
ELEMENTS = 64  # of one output, spread over it
_WHOLE = 5  # numbers that are of the whole draw
MISFIRE = 1e-10  # of one number; there are 69 of an output
NOTHING = 1e-7  # beside the largest element of its draw: what a runtime may well round to zero

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[int], Sequence[Any]]  # the outputs of one more draw, as arrays


@dataclass(frozen=True, slots=True)
class Likeness:
    """How far two distributions are apart, and how far they may be by chance."""

    distance: float
    threshold: float
    draws: int

    @property
    def same(self) -> bool:
        return self.distance <= self.threshold


def likeness(model: Draw, file: Draw) -> tuple[Likeness, ...]:
    """One for each output."""
    ours: list[list[Numbers]] = []
    theirs: list[list[Numbers]] = []
    start = time.monotonic()
    for turn in range(DRAWS):
        if turn >= FEWEST and time.monotonic() - start > BUDGET_SECONDS:
            break
        theirs.append([_numbers(output) for output in model(turn)])
        ours.append([_numbers(output) for output in file(turn)])
    draws = len(ours)
    threshold = math.sqrt(math.log(2 / MISFIRE) / 2) * math.sqrt(2 / draws)
    return tuple(
        Likeness(_distance(list(one), list(other)), threshold, draws)
        for one, other in zip(zip(*theirs, strict=True), zip(*ours, strict=True), strict=True)
    )


def _numbers(output: Any) -> Numbers:
    array = np.asarray(output)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    # NaN has no order: as the largest of all it counts in its place.
    flat = np.nan_to_num(array.reshape(-1).astype(np.float64), nan=np.inf, posinf=np.inf)
    if not flat.size:
        return np.zeros(_WHOLE)
    finite = np.abs(flat, out=np.zeros_like(flat), where=np.isfinite(flat))
    flat[np.isfinite(flat) & (finite < NOTHING * finite.max())] = 0
    some = flat[np.linspace(0, flat.size - 1, min(flat.size, ELEMENTS)).astype(int)]
    with np.errstate(all="ignore"):
        whole = [flat.size, flat.mean(), flat.std(), flat.min(), flat.max()]
    return _rounded(np.concatenate([np.nan_to_num(whole, nan=np.inf, posinf=np.inf), some]))


def _rounded(numbers: Numbers) -> Numbers:
    """To five digits: sums in another order differ in the last ones, which is no other kind."""
    with np.errstate(all="ignore"):
        digits = np.where(numbers == 0, 0.0, np.floor(np.log10(np.abs(numbers))))
        scale = 10.0 ** (4 - digits)
        return np.where(np.isfinite(scale * numbers), np.round(numbers * scale) / scale, numbers)


def _distance(one: list[Numbers], other: list[Numbers]) -> float:
    """The largest over all numbers; of draws that differ in size, over those of the whole draw."""
    kept = min(len(numbers) for numbers in (*one, *other))
    if any(len(numbers) != kept for numbers in (*one, *other)):
        kept = _WHOLE
    a, b = (np.stack([numbers[:kept] for numbers in draws]) for draws in (one, other))
    return max(_kolmogorov_smirnov(a[:, at], b[:, at]) for at in range(kept))


def _kolmogorov_smirnov(a: Numbers, b: Numbers) -> float:
    places = np.sort(np.concatenate([a, b]))
    below = [np.searchsorted(np.sort(side), places, side="right") / len(side) for side in (a, b)]
    return float(np.abs(below[0] - below[1]).max())
