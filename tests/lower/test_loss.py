"""Losses."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

X, Y = torch.randn(4, 5), torch.randn(4, 5)
CLASSES = torch.tensor([1, 0, 4, 2])
IMAGE, LABELS = torch.randn(2, 5, 3, 4), torch.randint(0, 5, (2, 3, 4))
REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "loss",
    [
        F.mse_loss,
        F.l1_loss,
        F.smooth_l1_loss,
        lambda a, b, reduction: F.smooth_l1_loss(a, b, beta=0.5, reduction=reduction),
        F.huber_loss,
        lambda a, b, reduction: F.huber_loss(a, b, delta=0.7, reduction=reduction),
        F.binary_cross_entropy_with_logits,
        lambda a, b, reduction: F.binary_cross_entropy(
            a.sigmoid(), b.sigmoid(), reduction=reduction
        ),
        lambda a, b, reduction: F.kl_div(a, b.sigmoid(), reduction=reduction),
        lambda a, b, reduction: F.kl_div(a, b, log_target=True, reduction=reduction),
        lambda a, b, reduction: F.hinge_embedding_loss(a, b.sign(), reduction=reduction),
        lambda a, b, reduction: F.margin_ranking_loss(a, b, a.sign(), 0.3, reduction=reduction),
        lambda a, b, reduction: F.soft_margin_loss(a, b.sign(), reduction=reduction),
        lambda a, b, reduction: F.poisson_nll_loss(a, b.abs(), reduction=reduction),
        lambda a, b, reduction: F.triplet_margin_loss(a, b, a * b, reduction=reduction),
        lambda a, b, reduction: F.multilabel_soft_margin_loss(
            a, (b > 0).float(), reduction=reduction
        ),
        lambda a, b, reduction: F.cosine_embedding_loss(a, b, a[:, 0].sign(), reduction=reduction),
    ],
)
def test_of_two(loss: Any, reduction: str) -> None:
    assert_same(lambda a, b: loss(a, b, reduction=reduction), X, Y)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_by_class(loss: Any, reduction: str) -> None:
    weight = torch.rand(5)
    for x, target in ((X, CLASSES), (IMAGE, LABELS), (X[0], CLASSES[0])):
        assert_same(lambda x, t: loss(x, t, reduction=reduction), x, target)
        assert_same(lambda x, t: loss(x, t, ignore_index=0, reduction=reduction), x, target)
        assert_same(lambda x, t, w: loss(x, t, w, reduction=reduction), x, target, weight)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_with_smoothing_or_probabilities(reduction: str) -> None:
    weight, kwargs = torch.rand(5), {"reduction": reduction, "label_smoothing": 0.1}
    for x, target in ((X, CLASSES), (IMAGE, LABELS)):
        assert_same(lambda x, t: F.cross_entropy(x, t, **kwargs), x, target)
        assert_same(
            lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=0, **kwargs), x, target, weight
        )
    for x in (X, IMAGE):
        shares = torch.randn(x.shape).softmax(1)
        assert_same(lambda x, t: F.cross_entropy(x, t, reduction=reduction), x, shares)
        assert_same(lambda x, t, w: F.cross_entropy(x, t, w, **kwargs), x, shares, weight)


def test_an_ignored_target_hides_infinities() -> None:
    x = X.clone()
    x[0, 0] = -float("inf")
    target = torch.tensor([-100, 0, 4, 2])
    assert_same(F.nll_loss, x, target)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin(reduction: str) -> None:
    target = torch.tensor([[1, 0, -1, 0, 0], [2, 3, -1, 0, 0], [0, -1, 1, 2, 3], [4, 3, 2, 1, 0]])
    assert_same(lambda x, t: F.multilabel_margin_loss(x, t, reduction=reduction), X, target)
    if reduction != "none":  # of one row torch itself is not sure of the shape
        assert_same(
            lambda x, t: F.multilabel_margin_loss(x, t, reduction=reduction), X[0], target[0]
        )
    assert_same(lambda x, t: F.multi_margin_loss(x, t, reduction=reduction), X, CLASSES)


def test_at_other_sizes() -> None:
    assert_same(
        F.cross_entropy,
        X,
        CLASSES,
        dynamic=({0: "batch"}, {0: "batch"}),
        others=[[torch.randn(1, 5), torch.tensor([3])]],
    )


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_the_margin_of_whole_numbers(margin: float) -> None:
    for dtype in (torch.uint8, torch.int64):  # the differences of bytes wrap
        a, b = torch.randint(0, 9, (2, 6)).to(dtype)
        sign = torch.tensor([1, 0, 1, 1, 2, 1]).to(dtype)
        assert_same(lambda *x: F.margin_ranking_loss(*x, margin, reduction="none"), a, b, sign)


def test_a_margin_that_overflows_in_half_precision() -> None:
    x, sign = torch.tensor([-30.0, 2.0, -8.0]).half(), torch.tensor([1.0, 1.0, -1.0]).half()
    assert_same(lambda *a: F.soft_margin_loss(*a, reduction="none"), x, sign)
    assert_same(F.soft_margin_loss, x[1:].float(), sign[1:].float())
