"""Branches on tensors that hold a size: what they ask is about sizes, and both sides are in the file."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Padded(nn.Module):
    """A convolution that pads by reflection, and what is too short for that with zeros before."""

    def __init__(self, kernel: int, stride: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(2, 2, kernel, stride)
        self.register_buffer("kernel", torch.tensor(kernel))
        self.register_buffer("stride", torch.tensor(stride))
        self.register_buffer("total", torch.tensor(kernel - stride))

    def extra(self, x: Tensor) -> Tensor:
        length = x.shape[-1]
        frames = torch.ceil((length - self.kernel + self.total) / self.stride + 1).to(torch.int64)
        return (frames - 1) * self.stride + self.kernel - self.total - length

    def forward(self, x: Tensor) -> Tensor:
        paddings = (self.total, self.extra(x))
        most, more = max(*paddings), 0
        if x.shape[-1] <= most:
            more = most - x.shape[-1] + 1
            x = nn.functional.pad(x, (0, more))
        x = nn.functional.pad(x, paddings, "reflect")
        return self.convolution(x[..., : x.shape[-1] - more])


@pytest.mark.parametrize("length", [40, 3])
def test_a_padding_that_torch_computes(length: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(Padded(7, 1), Padded(4, 2), Padded(7, 1)).eval()
    path = tmp_path / "m.onnx"
    shapes = ({0: "batch", 2: "length"},)
    assert onnxpert.export(model, (torch.randn(2, 2, length),), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path)
    (name,) = [given.name for given in session.get_inputs()]
    for other in (1, 2, 3, 5, 6, 7, 12, 13, 14, 41):
        x = torch.randn(3, 2, other)
        (found,) = session.run(None, {name: x.numpy()})
        torch.testing.assert_close(torch.tensor(found), model(x), rtol=1e-4, atol=1e-5)


class InPieces(Padded):
    """As many pieces as the model was told, which is one as long as the input."""

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-1]
        pieces = [
            super(InPieces, self).forward(x[..., start : start + length])
            for start in range(0, length, length)
        ]
        return torch.cat(pieces, -1)


def test_one_piece_as_long_as_the_input(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = nn.Sequential(InPieces(7, 1), Padded(4, 2)).eval(), tmp_path / "m.onnx"
    shapes = ({0: "batch", 2: "length"},)
    assert onnxpert.export(model, (torch.randn(2, 2, 40),), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path)
    (name,) = [given.name for given in session.get_inputs()]
    for other in (1, 2, 6, 7, 13):
        x = torch.randn(3, 2, other)
        (found,) = session.run(None, {name: x.numpy()})
        torch.testing.assert_close(torch.tensor(found), model(x), rtol=1e-4, atol=1e-5)
