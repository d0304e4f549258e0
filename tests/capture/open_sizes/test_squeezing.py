"""Sizes of 1 that vanish, where they vary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxpert
from tests.capture.open_sizes.models import Calls, assert_same

SQUEEZES: dict[str, Callable[[torch.Tensor], Any]] = {
    "all": lambda x: x.squeeze().softmax(-1).sum(),
    "one": lambda x: x.squeeze(0).softmax(0).reshape(-1),
    "several": lambda x: x.squeeze((0, 1)).cumsum(0).reshape(-1),
    "asked": lambda x: x.squeeze(0).sum(-1) if x.shape[0] == 1 else x.sum(-1).mean(0),
}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("squeeze", SQUEEZES.values(), ids=SQUEEZES)
def test_both_ranks_are_in_the_file(
    squeeze: Callable[..., Any], batch: int, tmp_path: Path
) -> None:
    sizes = ((1, 3, 4), (4, 3, 4), (2, 3, 4))
    shapes = {"x": {0: "batch"}}
    assert_same(Calls(squeeze), (batch, 3, 4), sizes, shapes, tmp_path / "squeezed.onnx")


@pytest.mark.parametrize("batch", [1, 3])
def test_a_rank_that_varies_is_said_of_its_line(batch: int) -> None:
    report = onnxpert.diagnose(
        Calls(lambda x: x.squeeze(0)), (torch.randn(batch, 3, 4),), dynamic_shapes=({0: "batch"},)
    )
    (found,) = [finding for finding in report.findings if finding.blocks]
    assert found.rule == "SHP202"
    assert "batch != 1" in found.message
    assert found.location is not None
    assert found.location.file == __file__
