"""An output that is off by what the model's own last digits do to it."""

from __future__ import annotations

from typing import Any

import torch

from onnxpert.core.types import Row, Verdict
from onnxpert.verify.compare import compare
from onnxpert.verify.noise import within_noise


def _rows(want: torch.Tensor, got: torch.Tensor) -> list[Row]:
    found = compare(want, got.numpy())
    verdict = Verdict.FAIL if found.problem else Verdict.PASS
    return [Row("example", "y", {}, verdict, found.max_abs, found.max_rel, found.rtol, found.atol)]


def _judged(off: float, noise: float) -> Verdict:
    """Of an output around one, its file off by so much, and its model as unsteady as that."""
    torch.manual_seed(0)
    want = torch.randn(1000)
    ways = torch.randint(0, 2, want.shape) * 2 - 1
    got = want + off * ways

    def draw(turn: int) -> Any:
        return (want + noise * (torch.randint(0, 2, want.shape) * 2 - 1),)

    (row,) = within_noise(_rows(want, got), (want,), (got.numpy(),), draw)
    return row.verdict


def test_off_by_its_own_noise() -> None:
    assert _judged(1e-4, 1e-4) is Verdict.PASS


def test_near_though_its_noise_is_larger() -> None:
    assert _judged(1e-3, 1e-2) is Verdict.PASS


def test_off_by_more_than_its_noise() -> None:
    assert _judged(1e-3, 1e-4) is Verdict.FAIL


def test_noise_that_is_no_longer_small() -> None:
    assert _judged(1e-1, 1e-1) is Verdict.FAIL
    assert _judged(1e-2, 1e-2) is Verdict.FAIL
    assert _judged(1e-3, 1e-1) is Verdict.FAIL


def test_a_steady_model_is_not_asked_where_nothing_fails() -> None:
    want = torch.randn(10)
    rows = _rows(want, want)

    def draw(turn: int) -> Any:
        raise AssertionError("the model was run")

    assert within_noise(rows, (want,), (want.numpy(),), draw) == rows


def test_one_row_that_is_far_off_speaks_for_all() -> None:
    want = torch.randn(100)
    near, far = _rows(want, want + 1e-4), _rows(want, want + 1)
    rows = [*near, *far]
    got = ((want + 1e-4).numpy(), (want + 1).numpy())
    assert within_noise(rows, (want, want), got, lambda turn: (want + 1e-4, want)) == rows
