"""Dynamic dimensions have names that say what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import nn

import onnxpert


def names(model: Callable[..., Any], path: Path, **inputs: torch.Tensor) -> list[list[str]]:
    onnxpert.export(model, (), path, kwargs=inputs, dynamic_shapes="auto")
    return [
        [dim.dim_param for dim in value.type.tensor_type.shape.dim if dim.dim_param]
        for value in onnx.load(path).graph.input
    ]


def _of_ids(input_ids: torch.Tensor, decoder_input_ids: torch.Tensor) -> torch.Tensor:
    return input_ids.float().mean() + decoder_input_ids.float()


@pytest.mark.parametrize(
    ("model", "inputs", "expected"),
    [
        (nn.Conv1d(3, 4, 3).eval(), {"input": torch.randn(2, 3, 9)}, [["batch", "length"]]),
        (nn.Conv2d(3, 4, 3).eval(), {"input": torch.randn(2, 3, 9, 8)}, [["batch", "height", "width"]]),
        (lambda input_ids: input_ids + 1, {"input_ids": torch.ones(2, 5).long()}, [["batch", "sequence"]]),
        (
            _of_ids,
            {"input_ids": torch.ones(2, 5).long(), "decoder_input_ids": torch.ones(3, 4).long()},
            [["batch", "sequence"], ["batch_1", "target_sequence"]],
        ),
        (lambda waveform: waveform * 2, {"waveform": torch.randn(2, 70)}, [["batch", "samples"]]),
        (lambda boxes: boxes * 2, {"boxes": torch.randn(7, 4)}, [["boxes", "boxes_dim_1"]]),
    ],
)  # fmt: skip
def test_names_from_signature_and_use(
    model: Callable[..., Any], inputs: Any, expected: list[list[str]], tmp_path: Path
) -> None:
    assert names(model, tmp_path / "m.onnx", **inputs) == expected


def test_a_size_nobody_could_read_gets_a_short_name(tmp_path: Path) -> None:
    import math

    class Grid(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            side = int(math.sqrt(x.shape[1]))
            return x.reshape(x.shape[0], side, side)

    path = tmp_path / "m.onnx"
    onnxpert.export(Grid(), (torch.randn(2, 16),), path, dynamic_shapes=({0: "b", 1: "n"},))
    (output,) = onnx.load(path).graph.output
    dims = [dim.dim_param for dim in output.type.tensor_type.shape.dim]
    assert dims[0] == "b"
    assert all(len(dim) < 12 for dim in dims)
