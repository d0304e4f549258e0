"""torchvision's operators, where it is installed."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

ops = pytest.importorskip("torchvision.ops")


def _boxes(number: int) -> torch.Tensor:
    corners = torch.rand(number, 4, generator=torch.Generator().manual_seed(number)) * 10
    return torch.cat([corners[:, :2], corners[:, :2] + 1 + corners[:, 2:] * 0.8], 1)


def test_nms() -> None:
    assert_same(lambda b, s: ops.nms(b, s, 0.3), _boxes(30), torch.rand(30))


def test_boxes_the_wrong_way_round_are_kept() -> None:
    boxes = torch.tensor([[0.0, 0, 4, 4], [4, 4, 0, 0], [0, 0, 4, 4], [4, 0, 0, 4], [1, 1, 1, 1]])
    assert_same(lambda b, s: ops.nms(b, s, 0.1), boxes, torch.rand(5))


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_roi_pool(scale: float) -> None:
    assert_same(
        lambda x, b: ops.roi_pool(x, [b], (3, 2), scale), torch.randn(1, 4, 20, 20), _boxes(6)
    )


def test_roi_pool_with_its_places() -> None:
    rois = torch.cat([torch.tensor([[0.0], [1.0], [0.0]]), _boxes(3)], 1)
    assert_same(
        lambda x, b: torch.ops.torchvision.roi_pool(x, b, 0.7, 3, 2), torch.randn(2, 4, 9, 8), rois
    )


@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(aligned: bool) -> None:
    assert_same(
        lambda x, b: ops.roi_align(x, [b], (3, 2), 0.5, 2, aligned),
        torch.randn(1, 4, 20, 20),
        _boxes(6),
    )


def test_deform_conv2d() -> None:
    assert_same(
        lambda x, o, w, m: ops.deform_conv2d(x, o, w, None, 1, 1, 1, m),
        torch.randn(1, 4, 8, 8),
        torch.randn(1, 18, 8, 8),
        torch.randn(6, 4, 3, 3),
        torch.rand(1, 9, 8, 8),
    )


def _regions(number: int) -> torch.Tensor:
    return torch.cat([torch.arange(number).remainder(2).float()[:, None], _boxes(number)], 1)


@pytest.mark.parametrize("ratio", [2, -1])
def test_position_sensitive_roi_align(ratio: int) -> None:
    assert_same(
        lambda x, b: ops.ps_roi_align(x, b, (3, 2), 0.5, ratio),
        torch.randn(2, 12, 20, 20),
        _regions(6),
        dynamic="auto",
    )


def test_position_sensitive_roi_pool() -> None:
    assert_same(
        lambda x, b: torch.ops.torchvision.ps_roi_pool(x, b, 0.7, 3, 2),
        torch.randn(2, 12, 9, 8),
        _regions(6),
        dynamic="auto",
    )


def _classed(number: int, classes: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(number)
    scores = torch.rand(number, generator=generator)
    return _boxes(number), scores, torch.randint(-1, classes, (number,), generator=generator)


def test_batched_nms_of_few_and_of_many_boxes() -> None:
    """torchvision has a way for each, which come out differently."""
    assert_same(
        lambda b, s, i: ops.batched_nms(b, s, i, 0.2),
        *_classed(40, 3),
        dynamic=({0: "n"}, {0: "n"}, {0: "n"}),
        others=[_classed(number, 3) for number in (0, 1, 1000, 1001, 1500)],
    )
