"""How far the paths of a model are followed."""

import contextlib
import statistics
from typing import Any

import pytest
import torch

import onnxpert
from onnxpert.capture import capture
from onnxpert.capture.forking import explorer, runs
from onnxpert.capture.settled import _MOST_RUNS
from onnxpert.capture.strategies.recorded import Walker
from onnxpert.core.types import Captured, CaptureFailed, Loaded, Request
from onnxpert.load import load


class Twice(torch.nn.Module):
    """What is in a set, no graph knows: there is no way but path by path."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = set()
        if x.sum() > 0:
            seen.add("sum")
        if x.mean() > 1:
            seen.add("mean")
        return x * len(seen)


def test_paths_that_record_too_much_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert onnxpert.diagnose(Twice().eval(), (torch.randn(3),)).ok
    monkeypatch.setattr(runs, "_MOST_CALLS", 0)
    monkeypatch.setattr(runs, "_FEW_RUNS", 0)
    report = onnxpert.diagnose(Twice().eval(), (torch.randn(3),))
    assert "CTL410" in {finding.rule for finding in report.findings}
    assert not report.ok


class Limited(torch.nn.Module):
    """A tensor made of numbers and of tensors that a branch leaves: the old constructor looks at their
    memory."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = []
        for value, most in zip(x, (1.0, 0.5), strict=True):
            chosen = value * 2
            if chosen > most:  # noqa: PLR1730 - the branch is the matter
                chosen = most
            found.append(chosen)
        return torch.FloatTensor(found)


def test_memory_that_is_not_there_is_no_refusal_of_the_models() -> None:
    """It was taken for the model's own, and the file had the other side alone."""
    report = onnxpert.diagnose(Limited().eval(), (torch.tensor([0.1, 0.2]),))
    assert {finding.rule for finding in report.findings if finding.blocks} == {"CAP001"}


class Stepped(torch.nn.Module):
    """As many questions about a size as a deep model asks that pads what is too short."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for least in range(40, 20, -2):
            if x.shape[0] < least:
                x = x + least
        return x


def test_many_questions_about_sizes_are_read_off_the_lines_where_runs_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Loaded] = []
    monkeypatch.setattr(Walker, "_written", lambda _, loaded: read.append(loaded))
    loaded = load(Request(Stepped().eval(), (torch.randn(3),), dynamic_shapes={"x": {0: "n"}}))
    for many, times in ((explorer._MANY_CALLS, 0), (-1, 1)):
        monkeypatch.setattr(explorer, "_MANY_CALLS", many)
        assert isinstance(capture(loaded), Captured)  # in the end, question by question
        assert len(read) == times


class Twelfth(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * statistics.median(x.tolist())


class Climbs(torch.nn.Module):
    """From each turn of the first row's loop on, the second row's may have as many."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = []
        for row in x:
            left, kept = row, [row[0]]
            while left.numel() > 0:
                kept.append(left[0])
                left = left[left > left[0]]
            if kept[-1] < 0:
                continue
            chosen.append(torch.stack(kept))
        return max(chosen, key=lambda each: each.sum().item())


@pytest.mark.parametrize(
    ("model", "x"), [(Twelfth(), torch.randn(12)), (Climbs(), torch.rand(2, 5))]
)
def test_ways_that_multiply_are_given_up_early(
    model: torch.nn.Module, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They took all the runs that there may be."""
    made: list[object] = []
    plain = runs.Runs._new

    def counted(self: runs.Runs, *given: Any) -> Any:
        made.append(given)
        return plain(self, *given)

    monkeypatch.setattr(runs.Runs, "_new", counted)
    assert isinstance(capture(load(Request(model.eval(), (x,)))), CaptureFailed)
    assert len(made) < 16 + _MOST_RUNS  # the latter to see what is in the way by itself


class Many(torch.nn.Module):
    """More branches in a row than runs are made of any model."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = set()
        for place in range(runs._MOST_RUNS + 1):
            if x[place] > 0:
                seen.add(place)
        return x * len(seen)


class Halves(torch.nn.Module):
    """Each half is odd or even by itself: as many ways as their sides can be put together."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(100))
        self.depth = depth

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        for _ in range(self.depth):
            if x.shape[1] % 2:
                x = torch.nn.functional.pad(x, (0, 0, 0, 1))
            x = x[:, 0::2] + x[:, 1::2]
        return x


def _runs_made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    plain = runs.Runs._new

    def new(self: Any, plan: Any, *rest: Any) -> Any:
        made.append(plan)
        return plain(self, plan, *rest)

    monkeypatch.setattr(runs.Runs, "_new", new)
    return made


def test_paths_that_cannot_all_be_followed_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _runs_made(monkeypatch)
    example = torch.randn(runs._MOST_RUNS + 1)
    with pytest.raises(runs.TooManyPathsError):
        Walker("recorder", lambda _: contextlib.nullcontext()).captured(
            load(Request(Many().eval(), (example,)))
        )
    assert len(made) == 1


def test_sides_that_multiply_are_read_off_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _runs_made(monkeypatch)
    report = onnxpert.diagnose(
        Halves(3).eval(), (torch.randn(2, 21, 4),), dynamic_shapes=({1: "length"},)
    )
    assert report.ok, str(report)
    assert len(made) == 1
