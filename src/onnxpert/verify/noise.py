"""Rows that are off by no more than the model's own noise, where that is small beside the output.

A deep model may make a rounding so large that it shows in elements near zero. The output as a whole
is still within its tolerance; and the model itself, with other last digits, is as far off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from onnxpert.core.types import Row, Verdict
from onnxpert.verify.arrays import to_tensor
from onnxpert.verify.roundings import TURNS, finite, sway

Draw = Callable[[int], Sequence[Any] | None]
# How much more than the file the model may be off: the draws are few and random, and one of them may
# meet a scale that the file's own digits leave in balance. Beyond, the model is no measure.
_UNSTEADY = 10


def within_noise(
    rows: Sequence[Row], want: Sequence[Any], got: Sequence[Any], draw: Draw
) -> list[Row]:
    """`draw(turn)` is what the model gives with other last digits everywhere."""
    near = [
        index
        for index, row in enumerate(rows)
        if row.verdict is Verdict.FAIL and _is_near(row, want[index])
    ]
    failed = [row for row in rows if row.verdict is Verdict.FAIL]
    if not near or len(near) < len(failed):  # what is off further has another reason
        return list(rows)
    drawn = [draw(turn) for turn in range(TURNS)]
    judged = list(rows)
    for index in near:
        answer = to_tensor(got[index])
        judged[index] = _judged(
            rows[index], want[index], answer, [None if one is None else one[index] for one in drawn]
        )
    return judged


def _is_near(row: Row, want: Any) -> bool:
    if row.max_abs is None or not row.rtol or not isinstance(want, torch.Tensor):
        return False
    return want.is_floating_point() and finite((want,)) and row.max_abs <= _allowed(row, want)


def _allowed(row: Row, want: torch.Tensor) -> float:
    """The relative tolerance, of the largest value."""
    return float(row.rtol or 0.0) * float(want.double().abs().max())


def _judged(row: Row, want: torch.Tensor, got: torch.Tensor, drawn: Sequence[Any]) -> Row:
    found = sway(want, got, drawn.__getitem__) if finite((got,)) else None
    unsteady = _UNSTEADY * _allowed(row, want)
    if found is None or not found.is_within or found.allowed / 2 > unsteady:
        return row
    detail = f"other last digits move the model itself by {found.allowed / 2:.2g}"
    return replace(row, verdict=Verdict.PASS, detail=detail, rtol=0.0, atol=found.allowed)
