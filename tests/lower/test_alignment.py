"""CTC losses: targets in rows and in one line, of no labels, that do not fit."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

T, N, C = 7, 3, 5
X = torch.randn(T, N, C).log_softmax(-1)
LABELS = torch.tensor([[1, 2, 2], [3, 4, 1], [2, 2, 2]])
INPUTS, SIZES = torch.tensor([7, 5, 4]), torch.tensor([3, 0, 3])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero", [False, True])
def test_ctc_loss(reduction: str, zero: bool) -> None:
    def loss(x, y, n, m):  # type: ignore[no-untyped-def]
        return F.ctc_loss(x, y, n, m, reduction=reduction, zero_infinity=zero)

    assert_same(
        loss, X, LABELS, INPUTS, SIZES, others=[(X, LABELS, INPUTS, torch.tensor([1, 2, 3]))]
    )
    in_line = torch.tensor([1, 2, 2, 4, 4, 4])
    assert_same(loss, X, in_line, INPUTS, SIZES)


def test_known_lengths_and_another_blank() -> None:
    assert_same(
        lambda x, y: F.ctc_loss(x, y, (7, 7, 7), (2, 3, 1), blank=C - 1),
        X,
        torch.randint(0, C - 1, (N, 3)),
    )


def test_a_single_sequence() -> None:
    assert_same(
        lambda x, y: F.ctc_loss(x, y, torch.tensor(7), torch.tensor(3), reduction="none"),
        X[:, 0],
        LABELS[0],
    )
