"""torchvision's loops over what the data say, exported without a loop and right for other data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert

heads = pytest.importorskip("torchvision.models.detection.roi_heads")


class Pasted(nn.Module):
    def forward(self, masks: torch.Tensor, boxes: torch.Tensor, image: torch.Tensor) -> Any:
        return heads.paste_masks_in_image(masks, boxes, image.shape[-2:])


def _given(count: int, height: int, width: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(count)
    corners = torch.rand(2, count, 2, generator=generator) * torch.tensor([width, height])
    boxes = torch.cat([corners.amin(0), corners.amax(0)], 1)
    masks = torch.rand(count, 1, 6, 6, generator=generator)
    return masks, boxes, torch.zeros(3, height, width)


def test_masks_of_any_number_in_an_image_of_any_size(tmp_path: Path) -> None:
    path = tmp_path / "pasted.onnx"
    before = heads.paste_masks_in_image.__code__
    shapes = {"masks": {0: "n"}, "boxes": {0: "n"}, "image": {1: "h", 2: "w"}}
    report = onnxpert.export(Pasted(), _given(4, 20, 30), path, dynamic_shapes=shapes)
    assert report.ok
    assert heads.paste_masks_in_image.__code__ is before
    session = onnxruntime.InferenceSession(path)
    for sizes in ((4, 20, 30), (0, 8, 9), (1, 31, 17), (7, 40, 25)):
        given = _given(*sizes)
        names = [each.name for each in session.get_inputs()]
        feeds = {name: value.numpy() for name, value in zip(names, given, strict=False)}
        (found,) = session.run(None, feeds)
        np.testing.assert_allclose(found, Pasted()(*given).numpy(), atol=1e-5)


class Located(nn.Module):
    def forward(self, maps: torch.Tensor, boxes: torch.Tensor) -> Any:
        return heads.heatmaps_to_keypoints(maps, boxes)


@pytest.mark.parametrize("opset", [17, 20])
def test_keypoints_of_any_number_of_boxes(tmp_path: Path, opset: int) -> None:
    path = tmp_path / "located.onnx"
    before = heads.heatmaps_to_keypoints.__code__
    _, boxes, _ = _given(4, 20, 30)
    maps = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    shapes = {"maps": {0: "n"}, "boxes": {0: "n"}}
    report = onnxpert.export(
        Located(), (maps, boxes), path, dynamic_shapes=shapes, opset_version=opset
    )
    assert report.ok
    assert heads.heatmaps_to_keypoints.__code__ is before
    session = onnxruntime.InferenceSession(path)
    for count in (4, 0, 1, 9):
        _, boxes, _ = _given(count, 40, 25)
        maps = torch.randn(count, 3, 8, 8, generator=torch.Generator().manual_seed(count))
        found = session.run(None, {"maps": maps.numpy(), "boxes": boxes.numpy()})
        for mine, theirs in zip(found, Located()(maps, boxes), strict=True):
            np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-5)


class Rescaled(nn.Module):
    """As detectors take their images: to a size that neither side decides alone, and padded."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sides = x.shape[-2:]
        scale = min(24 / min(sides), 40 / max(sides))
        small = nn.functional.interpolate(
            x, scale_factor=scale, mode="bilinear", recompute_scale_factor=True
        )
        height, width = (-(-side // 8) * 8 for side in small.shape[-2:])
        padded = x.new_zeros((x.shape[0], x.shape[1], height, width))
        padded[:, :, : small.shape[2], : small.shape[3]] = small
        pooled = nn.functional.max_pool2d(padded, 3, 2, 1)
        return pooled[pooled > 0.1].sum() + pooled.flatten(2)


def test_a_size_that_went_through_fractions(tmp_path: Path) -> None:
    path = tmp_path / "rescaled.onnx"
    shapes = {"x": {2: "h", 3: "w"}}
    example = torch.rand(1, 2, 30, 44, generator=torch.Generator().manual_seed(0))
    assert onnxpert.export(Rescaled(), (example,), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path)
    for height, width in ((30, 44), (44, 30), (25, 25), (17, 90)):
        x = torch.rand(1, 2, height, width, generator=torch.Generator().manual_seed(height))
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(found, Rescaled()(x).numpy(), rtol=1e-4, atol=1e-4)


class ManyChosen(nn.Module):
    """Many selections whose sizes the data decide, side by side."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = [x[x > level / 20] for level in range(20)]
        joined = torch.cat(chosen)
        return joined[joined < 0.9] * joined.shape[0]


def test_a_size_that_adds_up_what_the_data_decide(tmp_path: Path) -> None:
    path = tmp_path / "chosen.onnx"
    example = torch.rand(30, generator=torch.Generator().manual_seed(0))
    assert onnxpert.export(ManyChosen(), (example,), path, dynamic_shapes={"x": {0: "n"}}).ok
    session = onnxruntime.InferenceSession(path)
    for count in (30, 1, 57):
        x = torch.rand(count, generator=torch.Generator().manual_seed(count))
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(found, ManyChosen()(x).numpy(), rtol=1e-5)
