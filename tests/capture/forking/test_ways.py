"""Questions about sizes that have nothing to do with each other do not multiply the runs of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture.strategies import recorded


class Apart(nn.Module):
    """Each input goes its own way by its own size."""

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.one(x, 3 + place) for place, x in enumerate(inputs))

    def one(self, x: Tensor, few: int) -> Tensor:
        if x.shape[0] > few:
            return x.cumsum(0).sin()
        return (x * 2).sin()


class Rising(nn.Module):
    """Four questions about one size, of which each follows on the one before."""

    def forward(self, x: Tensor) -> Tensor:
        for size in (3, 5, 7, 9):
            if x.shape[0] > size:
                x = x + size
        return x


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    plain = recorded.record

    def record(*args: Any) -> Any:
        found.append(args)
        return plain(*args)

    monkeypatch.setattr(recorded, "record", record)
    return found


def agrees(model: nn.Module, path: Path, *cases: tuple[Tensor, ...]) -> None:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    for case in cases:
        want = model(*case)
        got = session.run(None, {n: one.numpy() for n, one in zip(names, case, strict=True)})
        for one, other in zip(want if isinstance(want, tuple) else (want,), got, strict=True):
            torch.testing.assert_close(one, torch.from_numpy(other))


@pytest.mark.parametrize(("inputs", "most"), [(2, 4), (3, 3), (6, 3)])
def test_sizes_that_are_asked_about_apart(
    inputs: int, most: int, tmp_path: Path, runs: list[Any]
) -> None:
    model, path = Apart().eval(), tmp_path / "apart.onnx"
    example = tuple(torch.randn(2 + place, 4) for place in range(inputs))
    shapes = {"inputs": tuple({0: f"n{place}"} for place in range(inputs))}
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    assert len(runs) <= most
    sizes = ((1, 9, 2, 9, 1, 9), (9, 3, 9, 2, 20, 1), (4, 4, 4, 4, 4, 4))
    agrees(model, path, *(tuple(torch.randn(n, 4) for n in one[:inputs]) for one in sizes))


def test_one_size_that_is_asked_about_often(tmp_path: Path, runs: list[Any]) -> None:
    model, path = Rising().eval(), tmp_path / "rising.onnx"
    assert onnxpert.export(model, (torch.randn(4, 2),), path, dynamic_shapes=({0: "n"},)).ok
    assert len(runs) == 5
    agrees(model, path, *((torch.randn(n, 2),) for n in (1, 3, 5, 6, 8, 9, 10, 30)))
