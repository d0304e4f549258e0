"""How long a model is waited for at other sizes: told by the calls of torch's, on any machine alike."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.verify import cases, patience, reference, sided
from onnxpert.verify.patience import Limit, Patience
from onnxpert.verify.reference import Output, Reference


class LongFromAHundredOn(nn.Module):
    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 100:
            for _ in range(self.calls):
                x = x + 1
        return x * 2


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often the model was asked at each size, on a machine that is slow, as its clock has it."""
    ticks = itertools.count()
    clock = SimpleNamespace(thread_time=lambda: next(ticks) * 0.03)
    monkeypatch.setattr(patience, "time", clock)
    monkeypatch.setattr(sided, "_MOST_CALLS", 10)  # at a size that is twenty times as large, 200
    monkeypatch.setattr(sided, "_TIMES_AS_MANY", 0)
    counts: Counter[int] = Counter()
    plain = Reference.call

    def call(self: Reference, leaves: Sequence[Any]) -> tuple[Output, ...]:
        counts[len(leaves[0])] += 1
        return plain(self, leaves)

    monkeypatch.setattr(Reference, "call", call)
    return counts


def verdicts(calls: int, path: Path) -> tuple[set[str], set[str]]:
    model, x = LongFromAHundredOn(calls).eval(), torch.randn(5)
    report = onnxpert.export(model, (x,), path, dynamic_shapes={"x": {0: "n"}})
    found = {row.verdict.name for row in report.verified if row.sizes["n"] == 101}
    return found, {finding.rule for finding in report.findings}


def test_what_is_larger_may_make_as_many_more_calls(called: Counter[int], tmp_path: Path) -> None:
    assert verdicts(80, tmp_path / "m.onnx") == ({"PASS"}, {"CTL406"})


def test_what_no_sizes_end_is_not_tried_with_other_values(
    called: Counter[int], tmp_path: Path
) -> None:
    # The side is in the file, and nothing was compared there.
    assert verdicts(300, tmp_path / "m.onnx") == ({"REFUSED"}, {"CTL406", "CTL409"})
    assert called[101] == 1


def test_calls_are_counted_and_time_only_ends_what_takes_far_longer() -> None:
    x = torch.ones(2)
    with Patience(Limit(2, 100.0)):
        x = x + x + x
    assert x.tolist() == [3.0, 3.0]
    with pytest.raises(TimeoutError), Patience(Limit(2, 100.0)):
        x + x + x + x
    with pytest.raises(TimeoutError), Patience(Limit(2, -1.0)):
        x + x


class Sided(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * 2 if x.shape[0] > 8 else x + 1
        return y.flip(0) if x.abs().max() < 0.05 else y


@pytest.mark.parametrize("seconds", [1e-5, 1.0])
def test_each_side_meets_the_sizes_of_the_other_on_a_slow_machine_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    ticks = itertools.count()
    clock = SimpleNamespace(thread_time=lambda: next(ticks) * seconds)
    monkeypatch.setattr(reference, "time", clock)
    x, dims = torch.ones(5), {"x": {0: "n"}}
    report = onnxpert.export(Sided().eval(), (x,), tmp_path / "m.onnx", dynamic_shapes=dims)
    named = {row.case for row in report.verified}
    assert {f"values x 0.01, n={size}" for size in (1, 8, 9)} <= named


class Joined(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x.mean(0) + (y.sum(0) if y.shape[0] > 3 else y.mean(0))


def test_as_many_sizes_are_tried_on_a_slow_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(seconds: float) -> list[str]:
        ticks = itertools.count()
        clock = SimpleNamespace(thread_time=lambda: next(ticks) * seconds)
        monkeypatch.setattr(reference, "time", clock)
        given, dims = (torch.ones(5, 2), torch.ones(6, 2)), {"x": {0: "n"}, "y": {0: "m"}}
        report = onnxpert.export(Joined().eval(), given, tmp_path / "m.onnx", dynamic_shapes=dims)
        return [row.case for row in report.verified]

    quick = tried(1e-5)
    assert len([name for name in quick if "n=" in name and "m=" in name]) > 4
    assert tried(1.0) == quick


class BySize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.shape[0] > 8 else x + 1


@pytest.mark.parametrize(("kind", "again"), [(BySize, False), (Sided, True)])
def test_what_sizes_decide_is_compared_at_each_of_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[nn.Module], again: bool
) -> None:
    monkeypatch.setattr(cases, "_FAR_SECONDS", 0.0)  # then the larger size is one that was tried
    x, dims = torch.ones(5), {"x": {0: "n"}}
    report = onnxpert.export(kind().eval(), (x,), tmp_path / "m.onnx", dynamic_shapes=dims)
    found = {row.case for row in report.verified}
    assert "n=7" in found
    assert ("example, n=7" in found) is again
