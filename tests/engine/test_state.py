"""Models that remember, exported with what they remember as inputs and outputs."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.core.errors import UsageError


class Average(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(1, 3))

    def forward(self, x: torch.Tensor) -> Any:
        self.mean.mul_(0.5).add_(x)
        return self.mean.clone()


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        return x * self.calls


class Streaming(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(2, 2, 3)
        self.cache: Any = None

    def forward(self, x: torch.Tensor) -> Any:
        if self.cache is None:
            self.cache = x.new_zeros(x.shape[0], 2, 2)
        y = torch.cat([self.cache, x], -1)
        self.cache = y[..., -2:].detach()
        return self.convolution(y)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.GRUCell(3, 3) for _ in range(2)])
        self.states: list[Any] = [None, None]

    def forward(self, x: torch.Tensor) -> Any:
        for place, cell in enumerate(self.cells):
            before = self.states[place]
            x = cell(x, torch.zeros_like(x) if before is None else before)
            self.states[place] = x
        return x


class Growing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Any = None

    def forward(self, x: torch.Tensor) -> Any:
        self.seen = x if self.seen is None else torch.cat([self.seen, x], 1)
        return (x @ self.seen.transpose(1, 2)).softmax(-1) @ self.seen


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0
        self.warm = False
        self.rates = {"decay": 0.5}

    def forward(self, x: torch.Tensor) -> Any:
        self.step += 1
        y = x * self.step if self.warm else x - 1
        self.warm = True
        self.rates["decay"] *= 0.9
        return y + self.rates["decay"]


class Idle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        return x * 2


class OnOneSide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > 0:
            self.held.add_(x)
        else:
            self.held = self.held * 0.5  # nothing, in the first call
        return x + self.held


CASES: list[Any] = [
    (Average, (1, 3), None, {"mean"}),
    (Counter, (3,), None, {"calls"}),
    (Streaming, (2, 2, 4), {0: "batch", 2: "time"}, {"cache"}),
    (Layers, (2, 3), {0: "batch"}, {"states.0", "states.1"}),
    (Growing, (1, 2, 4), {0: "batch", 1: "time"}, {"seen"}),
    (Steps, (3,), None, {"step", "warm", "rates.decay"}),
    (OnOneSide, (3,), None, {"held"}),
]


@pytest.mark.parametrize(("kind", "shape", "dims", "names"), CASES)
def test_calls_in_a_row(kind: Any, shape: Any, dims: Any, names: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "state.onnx"
    shapes = {"x": dims} if dims else None
    report = onnxpert.export(model, (torch.randn(shape),), path, dynamic_shapes=shapes, state="io")
    assert {row.case for row in report.verified} >= {"call 1 in a row", "call 4 in a row"}
    file = onnxpert.Stateful(path)
    assert file.remembered == names
    for _ in range(2):  # and once more from the start
        fresh = kind().eval()
        fresh.load_state_dict({**fresh.state_dict(), **dict(model.named_parameters())})
        for _ in range(3):
            x = torch.randn(shape)
            (got,) = file(x.numpy())
            with torch.no_grad():
                np.testing.assert_allclose(got, fresh(x).numpy(), rtol=1e-4, atol=1e-5)
        file.reset()


@pytest.mark.parametrize("kind", [Average, Streaming])
def test_without_the_option_it_is_refused(kind: Any) -> None:
    shape = (1, 3) if kind is Average else (1, 2, 4)
    report = onnxpert.diagnose(kind().eval(), (torch.randn(shape),))
    blocking = [finding for finding in report.findings if finding.blocks]
    assert any("state" in finding.help for finding in blocking)


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    model = Streaming().eval()
    onnxpert.export(model, (torch.randn(1, 2, 4),), tmp_path / "state.onnx", state="io")
    assert model.cache is None


class Writes(nn.Module):
    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> Any:
        memory.mul_(0.9).add_(x)
        return memory.sum(-1)


def test_an_input_that_is_written_is_an_output(tmp_path: Path) -> None:
    path = tmp_path / "state.onnx"
    x, memory = torch.randn(2, 3), torch.zeros(2, 3)
    report = onnxpert.export(Writes().eval(), (x, memory), path, state="io")
    assert report.outputs == ("output: float32[2]", "memory_out: float32[2, 3]")
    file, kept = onnxpert.Stateful(path), memory.clone()
    file(x.numpy(), memory.numpy())
    (got,) = file(x.numpy())  # the memory of the first call
    Writes()(x, kept)
    np.testing.assert_allclose(got, Writes()(x, kept).numpy(), rtol=1e-5)
    assert not memory.any()


class Remote(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = collections.deque([torch.zeros(3)])

    def forward(self, x: torch.Tensor) -> Any:
        self.steps.append(self.steps.pop() + x)
        return self.steps[-1] * 2


def test_what_it_cannot_carry_is_not_offered_again() -> None:
    report = onnxpert.diagnose(Remote().eval(), (torch.randn(3),), state="io")
    (finding,) = [finding for finding in report.findings if finding.rule == "STA305"]
    assert finding.help.startswith("make the state an argument of forward")


class Largest(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.best: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.best is None or x.max() > self.best:
            self.best = x.max()
        return x - self.best


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.zeros(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(self.table) < len(x):
            self.table = torch.arange(len(x)).sqrt()
        return x + self.table[: len(x)]


def test_what_only_shows_after_another_input_is_state_too() -> None:
    report = onnxpert.diagnose(Largest().eval(), (torch.randn(3),))
    assert "STA305" in [finding.rule for finding in report.findings]
    assert not report.ok


def test_a_cache_that_only_saves_time_is_none(tmp_path: Path) -> None:
    sizes = {"x": {0: "n"}}
    assert onnxpert.export(
        Tables().eval(), (torch.randn(3),), tmp_path / "m.onnx", dynamic_shapes=sizes
    ).ok


def test_a_number_that_nothing_depends_on_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "idle.onnx"
    onnxpert.export(Idle().eval(), (torch.randn(3),), path, state="io")
    assert onnxpert.Stateful(path).remembered == frozenset()


def test_a_model_without_state_is_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "plain.onnx"
    onnxpert.export(nn.Linear(3, 2).eval(), (torch.randn(2, 3),), path, state="io")
    file = onnxpert.Stateful(path)
    assert file.remembered == frozenset()
    assert file(np.zeros((2, 3), np.float32))[0].shape == (2, 2)


def test_misuse_of_the_runner(tmp_path: Path) -> None:
    path = tmp_path / "plain.onnx"
    onnxpert.export(nn.Linear(3, 2).eval(), (torch.randn(2, 3),), path)
    with pytest.raises(UsageError, match="the inputs are"):
        onnxpert.Stateful(path)(y=np.zeros((2, 3), np.float32))
    with pytest.raises(UsageError, match="there is no file"):
        onnxpert.Stateful(tmp_path / "missing.onnx")


def test_a_bad_level_is_misuse() -> None:
    with pytest.raises(UsageError, match="state"):
        onnxpert.diagnose(nn.Linear(3, 2), (torch.randn(2, 3),), state="keep")


class Counts(torch.nn.Module):
    """Its count is a tensor, and no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = torch.zeros(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x / self.calls


def test_a_tensor_that_is_no_buffer_is_named_where_it_is_changed_and_left_as_it_was() -> None:
    model = Counts().eval()
    report = onnxpert.diagnose(model, (torch.randn(3),))
    (found,) = report.findings
    assert found.rule == "STA301"
    assert found.location is not None
    assert found.location.code == "self.calls += 1"
    assert float(model.calls) == 0
    assert onnxpert.diagnose(model, (torch.randn(3),), state="io").ok
