"""Sizes that go through Python's number functions stay sizes, and nothing of the user's changes."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.capture.strategies import recorded


class Halves(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, : int(x.shape[1] / 2)]


class Grid(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        side = int(math.sqrt(x.shape[1]))
        return x.view(int(x.shape[0]), side, -1).transpose(1, 2).flatten(1)


class ImportedRoot(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / sqrt(x.shape[1])


class RootOfArrays(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / np.sqrt(x.shape[1]) + np.log2(x.shape[0] / 2)  # type: ignore[no-any-return]


class Counted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(len(x), 1, -1).sum(-1) / float(len(x))


class Listed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sizes = [int(size) for size in x.shape]
        return x.new_zeros(*sizes) + x.view(sizes[0], *(int(size) for size in sizes[1:]))


class Padded(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.pad(x, (0, max(16, x.shape[1]) - x.shape[1]))[:, : min(20, 2 * len(x))]


class Windows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        pieces = x.view(rows // 2, 2, columns // 4, 4).permute(0, 2, 1, 3).reshape(-1, 8)
        kept = int(pieces.shape[0] / (rows * columns / 2 / 4))
        return pieces.view(kept, rows // 2, columns // 4, 2, 4).sum((0, 1))


class Doubled(nn.Module):
    """Filled up to a power of two, as fast transforms like it; and the other way to say it."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        size = x.shape[1]
        one, other = 2 ** math.ceil(math.log2(size)), 1 << (size - 1).bit_length()
        return nn.functional.pad(x, (0, one - size)), x * other


def test_the_next_power_of_two(tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", Doubled()
    onnxpert.export(model, (torch.randn(2, 7),), path, dynamic_shapes=({0: "rows", 1: "columns"},))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for columns in (1, 2, 3, 4, 8, 9, 64, 128, 129):
        x = torch.randn(1, columns)
        for got, want in zip(session.run(None, {"x": x.numpy()}), model(x), strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [Halves(), Grid(), ImportedRoot(), RootOfArrays(), Counted(), Listed(), Padded(), Windows()],
)
def test_a_size_stays_a_size(model: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    code = type(model).forward.__code__
    scope = dict(type(model).forward.__globals__)
    onnxpert.export(model, (torch.randn(4, 16),), path, dynamic_shapes=({0: "rows", 1: "columns"},))
    assert type(model).forward.__code__ is code
    assert type(model).forward.__globals__ == scope
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for shape in ((4, 16), (2, 4), (6, 36), (10, 100)):
        x = torch.randn(shape)
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


def test_pooling_over_a_size_that_varies(tmp_path: Path) -> None:
    class Pools(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mean = nn.functional.avg_pool2d(x, [int(size) for size in x.shape[2:]])
            return mean + nn.functional.max_pool2d(x, x.shape[2:])

    path = tmp_path / "m.onnx"
    model = Pools()
    shapes = ({0: "b", 2: "h", 3: "w"},)
    onnxpert.export(model, (torch.randn(2, 3, 4, 5),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = torch.randn(1, 3, 7, 2)
    (got,) = session.run(None, {"x": x.numpy()})
    np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


def _kind(x: torch.Tensor) -> torch.Tensor:
    if isinstance(x.shape[0], int):
        return torch.zeros(int(x.shape[0]), dtype=int) + x  # type: ignore[call-overload,no-any-return]
    return torch.zeros(int(x.shape[0]), dtype=torch.int64) + x


def test_the_type_itself_is_left_alone(tmp_path: Path) -> None:
    model: Callable[..., Any] = _kind
    onnxpert.export(model, (torch.randn(3),), tmp_path / "m.onnx", dynamic_shapes=({0: "n"},))


def test_where_nobody_is_seen_to_refer_to_a_function() -> None:
    gc.collect()
    gc.freeze()
    try:
        report = onnxpert.diagnose(
            Padded().eval(), (torch.randn(3, 18),), dynamic_shapes={"x": {0: "a", 1: "b"}}
        )
    finally:
        gc.unfreeze()
    assert report.ok, str(report)
    assert not [each for each in report.findings if each.rule.startswith("SHP2")]


def _third(size: int) -> int:
    return int(size / 3)


class Parts(nn.Module):
    """What it calls, and that calls, makes numbers of sizes in four functions and a comprehension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        starts = [int(start) for start in (self.half(x), _third(x.shape[1]))]
        return x[:, starts[0] :] + x[:, starts[1] :].sum() + self.layers(x)

    def half(self, x: torch.Tensor) -> int:
        return min(int(x.shape[1] / 2), len(x))

    def layers(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean() * float(x.shape[1])


def test_functions_that_take_sizes_for_numbers_are_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record(*args: Any) -> Any:
        runs.append(args)
        return plain(*args)

    runs: list[Any] = []
    plain = recorded.record
    monkeypatch.setattr(recorded, "record", record)
    before = Parts.forward.__code__, Parts.half.__code__, _third.__code__
    path, model = tmp_path / "parts.onnx", Parts().eval()
    shapes = ({0: "rows", 1: "columns"},)
    assert onnxpert.export(model, (torch.randn(3, 8),), path, dynamic_shapes=shapes).ok
    assert len(runs) == 1
    assert before == (Parts.forward.__code__, Parts.half.__code__, _third.__code__)
    session = onnxruntime.InferenceSession(path)
    for rows, columns in ((1, 4), (3, 8), (7, 5)):
        x = torch.randn(rows, columns)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(model(x), torch.from_numpy(got))
