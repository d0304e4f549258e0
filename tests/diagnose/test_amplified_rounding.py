"""Roundings that move the model, where all that differs has been said of a size already."""

from __future__ import annotations

from onnxpert.core.types import Row, Verdict, Verified
from onnxpert.diagnose import diagnose


def test_nothing_is_left_to_say_of_roundings() -> None:
    rows = (Row("example", "output", {}, Verdict.PASS, max_abs=0.0),)
    assert not diagnose(Verified(rows, sway=1e-8))
