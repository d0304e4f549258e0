"""Outputs of which nothing but roundings is left: the mean of what was normalised, a difference of equals.

In exact numbers such an output is zero, and whatever a library gives instead is its own last digits. The
model in double precision tells: what stays of the output there is next to nothing. No file can be told
right from wrong by such digits; but it has to be as near to zero as the model itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from onnxpert.core.types import Row, Verdict
from onnxpert.targets.target import Array
from onnxpert.verify.arrays import to_tensor
from onnxpert.verify.roundings import finite, sway

# Of the model's largest value, what double precision may leave: its roundings are far smaller still, while
# a value of the model's own would be there whole.
_NOTHING = 1e-4


def explained_as_remains(
    row: Row, want: Any, got: Array, exact: Any, draw: Callable[[int], torch.Tensor | None]
) -> Row:
    """`exact` is what the model gives in double precision, `draw(turn)` what it gives with other last
    digits everywhere."""
    answer = to_tensor(got)
    if not isinstance(exact, torch.Tensor) or not want.shape == answer.shape == exact.shape:
        return row
    if not finite((want, answer, exact)):
        return row
    left, largest = float(exact.abs().max()), float(want.abs().max())
    if left > _NOTHING * largest:
        return row
    found = sway(want, answer, draw)
    if found is None or not found.is_within:
        return row
    detail = (
        f"nothing but roundings is left: in double precision the model gives {left:.2g} at most"
    )
    return replace(
        row, verdict=Verdict.PASS, detail=detail, rtol=0.0, atol=found.allowed, choices=()
    )
