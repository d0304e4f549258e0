"""Chunks of what may be empty: the file divides by the width of one."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import torch
from torch import nn

import onnxpert


class Half(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.chunk(2, 1)[0] * 2


def test_a_chunk_of_nothing_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "half.onnx"
    assert onnxpert.export(Half(), (torch.randn(2, 6),), path, dynamic_shapes=({1: "n"},)).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for size in (0, 1, 2, 5, 9):
        x = torch.randn(2, size)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), Half()(x))


class Flipped(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([piece.flip(1) for piece in x.chunk(2, 1)], 1)


def test_the_pieces_of_either_side_are_one_list(tmp_path: Path) -> None:
    path = tmp_path / "flipped.onnx"
    model, shapes = Flipped(), {"x": {0: "b", 1: "n"}}
    assert onnxpert.export(model, (torch.randn(2, 7),), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows, columns in ((1, 1), (3, 1), (2, 2), (1, 5), (4, 8)):
        x = torch.randn(rows, columns)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x))
