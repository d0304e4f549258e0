"""A function that remembers its results remembers none that a capture made."""

from __future__ import annotations

import functools
from pathlib import Path

import onnxruntime
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture import capture
from onnxpert.core.types import Captured, Request
from onnxpert.load import load


@functools.lru_cache
def table(size: int) -> Tensor:
    return torch.arange(size) * 2.0


class Adds(nn.Module):
    @staticmethod
    @functools.cache
    def shift(size: int) -> Tensor:
        return torch.ones(size)

    def forward(self, x: Tensor) -> Tensor:
        return x + table(3) + self.shift(3)


def test_the_next_call_of_the_users_own_gets_a_tensor_with_values() -> None:
    model = Adds().eval()
    found = capture(load(Request(model, (torch.zeros(3),))))
    assert isinstance(found, Captured)
    assert table.cache_info().currsize == 0
    assert model(torch.zeros(3)).tolist() == [1.0, 3.0, 5.0]


def test_what_was_known_before_and_not_asked_anew_is_kept() -> None:
    model = Adds().eval()
    model(torch.zeros(3))
    capture(load(Request(model, (torch.zeros(3),))))
    assert table.cache_info().currsize == 1


class OfASize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 16:
            x = x[-16:]
        x = x + table(x.shape[0]) + Adds.shift(x.shape[0])
        return x if x.sum() > 40 else -x


def test_of_a_size_that_varies_nothing_is_remembered(tmp_path: Path) -> None:
    """The number has no hash; beside branches each run of the model has stand-ins of its own."""
    path = tmp_path / "m.onnx"
    report = onnxpert.export(OfASize(), (torch.randn(5),), path, dynamic_shapes=({0: "n"},))
    assert report.ok, str(report)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for size in (1, 5, 16, 19):
        x = torch.randn(size)
        (got,) = session.run(None, {"x": x.numpy()})
        assert torch.allclose(OfASize()(x), torch.from_numpy(got))
