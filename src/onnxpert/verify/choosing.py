"""What a file chose that torch leaves open: the ways to make the model choose so too, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from onnxpert.core.types import Choice, Row, Verdict
from onnxpert.targets.target import Array
from onnxpert.verify.digits import Digits
from onnxpert.verify.reference import Reference
from onnxpert.verify.settling import Settling

_CHOICES = {
    Choice.SIGN: "signs",
    Choice.ORDER: "an order of equal elements",
    Choice.ROUNDING: "what the last digits decide",
}


def settlings(
    reference: Reference,
    leaves: Sequence[Any],
    deciding: Callable[[Mapping[str, Array]], Sequence[torch.Tensor]],
    feeds: Mapping[str, Array],
    *,
    likely: Collection[Choice] = (),
    briefly: bool = False,
) -> Iterator[Settling]:
    """First among equals, then what roundings decide, then both; at last as far as roundings move
    what decides in the model itself, which is asked only if nothing less explains the file.

    `likely`: what explained another case, tried at once if digits did; `briefly`: not that far, for
    it takes several runs."""
    if Choice.ROUNDING in likely:
        yield Settling(Digits(deciding(feeds)), equals=Choice.ORDER in likely)
    equals = Settling()
    yield equals
    values = deciding(feeds)
    if values:
        yield Settling(Digits(values), equals=False)
        if equals.met:
            yield Settling(Digits(values))
        if not briefly:
            yield Settling(Digits(values, reference.leeway(leaves)))


def settled_rows(
    failed: Sequence[Row],
    settled: Sequence[Row],
    made: tuple[Choice, ...],
    *,
    allowed: bool,
    by_chance: bool,
) -> list[Row]:
    """Each row that failed as it is with the choices made, if they are the file's to make.

    `by_chance`: what is equal is so by roundings, or at values that are the proof's, not the user's."""
    # What a rounding decides comes out otherwise on another machine, and the equals that it makes
    # too. Other equals may be the doing of values that nobody but the proof made up; at the user's
    # own values, the user decides.
    asked = {Choice.SIGN} if by_chance else {Choice.SIGN, Choice.ORDER}
    ours = allowed or asked.isdisjoint(made)
    which = " and ".join(_CHOICES[one] for one in made)
    detail = f"with the file's choice of {which}"
    return [
        old
        if old.verdict is not Verdict.FAIL
        else replace(new, choices=made, detail=detail)
        if ours
        else replace(old, choices=made)
        for old, new in zip(failed, settled, strict=True)
    ]
