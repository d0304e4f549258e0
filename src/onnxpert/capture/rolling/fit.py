"""Numbers that differ between traces, as functions of the lengths at which these were taken."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from onnxpert.capture.rolling.trace import Element, Leaf, Ref, UnalikeError

Lengths = tuple[int, ...]
_LARGEST_DIVISOR = 8
_FURTHER = (8, 10, 11, 13, 14, 16, 17, 19, 23)  # lengths that may tell formulas apart


@dataclass(frozen=True, slots=True)
class Formula:
    """A whole number: (sum of factor * product of lengths) // divisor."""

    terms: tuple[tuple[int, tuple[int, ...]], ...]  # factor, which lengths (() is one)
    divisor: int = 1

    def at(self, lengths: Sequence[Any]) -> Any:
        # `(n + 1) // 2 - 1` for `(n - 1) // 2`: so two that are one are seen to be.
        offsets = {powers: factor for factor, powers in self.terms}
        whole, rest = divmod(offsets.get((), 0), self.divisor)
        total: Any = rest
        for factor, powers in self.terms:
            if powers:
                total = total + factor * math.prod(lengths[i] for i in powers)
        return total // self.divisor + whole if self.divisor > 1 else total + whole


@dataclass(frozen=True, slots=True)
class Power:
    """A real number: factor * length ** power."""

    factor: float
    length: int
    power: float

    def at(self, lengths: Sequence[Any]) -> Any:
        size = lengths[self.length]
        root = torch.sym_sqrt(size) if abs(self.power) == 0.5 else torch.sym_float(size)  # type: ignore[no-untyped-call]
        return self.factor * root if self.power > 0 else self.factor / root


@dataclass(frozen=True, slots=True)
class Doubt:
    """Several formulas of one length that give all that was seen: `n // 3`, or `(n - 2) // 2`."""

    which: int
    rivals: tuple[Formula, ...]

    def telling(self, base: Lengths, most: int) -> Lengths | None:
        """Where they differ most: one length up to `most`, the others as in `base`."""
        found = (
            (*base[: self.which], length, *base[self.which + 1 :])
            for length in _FURTHER
            if length <= most
        )
        return max(found, key=self._values_at, default=None)

    def _values_at(self, lengths: Lengths) -> int:
        return len({formula.at(lengths) for formula in self.rivals})


def generalise(
    traces: Sequence[Sequence[Element]],
    lengths: Sequence[Lengths],
    doubts: list[Doubt] | None = None,
) -> list[Element]:
    """One list of elements whose numbers are functions of the lengths. Raises UnalikeError.

    Where there are several such functions the simplest is taken, and they go into `doubts`."""
    if len({len(elements) for elements in traces}) != 1:
        raise UnalikeError("the traces differ in length")
    numbers = [{element.id: at for at, element in enumerate(elements)} for elements in traces]
    found = []
    for at, same in enumerate(zip(*traces, strict=True)):
        if any(other.template != same[0].template for other in same):
            raise UnalikeError("the traces differ in a call")
        columns = zip(*(element.leaves for element in same), strict=True)
        leaves = tuple(_leaf(column, numbers, lengths, doubts) for column in columns)
        found.append(Element(at, same[0].template, leaves, same[0].node))
    return found


def _leaf(
    column: Sequence[Leaf], numbers: Any, lengths: Sequence[Lengths], doubts: list[Doubt] | None
) -> Leaf:
    if not isinstance(column[0], Ref):
        return fit(column, lengths, doubts)
    looks = {
        Ref(ids.get(ref.producer, ref.producer), ref.port, (), ref.pick, ref.axis)
        for ref, ids in zip(column, numbers, strict=True)
    }
    if len(looks) != 1:
        raise UnalikeError("the traces take a value from different places")
    (look,) = looks
    index = tuple(fit(n, lengths, doubts) for n in zip(*(ref.index for ref in column), strict=True))
    return Ref(look.producer, look.port, index, look.pick, look.axis)


def fit(
    values: Sequence[Any], lengths: Sequence[Lengths], doubts: list[Doubt] | None = None
) -> Any:
    """A constant, or the simplest function of the lengths that gives all the values."""
    if all(repr(value) == repr(values[0]) for value in values):
        return values[0]
    found = (
        _whole(values, lengths, doubts)
        if all(isinstance(v, int) for v in values)
        else _real(values, lengths)
    )
    if found is None:
        raise UnalikeError("a number depends on the length in a way that is not understood")
    return found


def _whole(
    values: Sequence[int], lengths: Sequence[Lengths], doubts: list[Doubt] | None
) -> Formula | None:
    count = len(lengths[0])
    singles = [(i,) for i in range(count)]
    products = list(itertools.combinations_with_replacement(range(count), 2))
    monomials = [*singles, *products]
    for size in (1, 2):
        for chosen in itertools.combinations(monomials, size):
            if len(values) <= size + 1 and size > 1:
                continue
            found = _solved(((), *chosen), values, lengths)
            if found is not None:
                return found
    for which in range(count):
        quotients = list(dict.fromkeys(_quotients(which, values, lengths)))
        if quotients:
            if doubts is not None and len(quotients) > 1:
                doubts.append(Doubt(which, tuple(quotients)))
            return quotients[0]
    return None


def _quotients(which: int, values: Sequence[int], lengths: Sequence[Lengths]) -> Iterator[Formula]:
    """Those of one length that give all the values."""
    for divisor in range(2, _LARGEST_DIVISOR + 1):
        for offset in range(-divisor, divisor + 1):
            formula = Formula(((1, (which,)), (offset, ())), divisor)
            shift = values[0] - formula.at(lengths[0])
            formula = Formula(((1, (which,)), (offset + shift * divisor, ())), divisor)
            if all(formula.at(n) == value for n, value in zip(lengths, values, strict=True)):
                yield formula


def _solved(
    monomials: Sequence[tuple[int, ...]], values: Sequence[int], lengths: Sequence[Lengths]
) -> Formula | None:
    rows = [[math.prod(n[i] for i in powers) for powers in monomials] for n in lengths]
    factors = np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0]
    terms = zip((round(float(factor)) for factor in factors), monomials, strict=True)
    formula = Formula(tuple(term for term in terms if term[0]))
    fits = all(formula.at(n) == value for n, value in zip(lengths, values, strict=True))
    return formula if fits else None


def _real(values: Sequence[float], lengths: Sequence[Lengths]) -> Power | None:
    for which, power in itertools.product(range(len(lengths[0])), (-1, -0.5, 1, 0.5)):
        factors = [value / n[which] ** power for value, n in zip(values, lengths, strict=True)]
        if all(math.isclose(factor, factors[0], rel_tol=1e-12) for factor in factors):
            return Power(factors[0], which, power)
    return None
