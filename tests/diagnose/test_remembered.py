"""What a model keeps from call to call: an error where it answers by it, at its own line, whatever else is wrong."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from onnxpert.report import Report
from onnxpert.verify.reference import Reference

TABLES: dict[int, Tensor] = {}
NUMBERED: dict[int, int] = {}


def marks(report: Report, rule: str) -> dict[str, Severity]:
    found = [f for f in report.findings if f.rule == rule and f.location]
    return {f.location.code.rpartition("# ")[2]: f.severity for f in found if f.location}


class Warms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1  # calls
        return x * (2.0 if self.calls > 100 else 1.0)


def test_a_counter_that_decides_only_after_many_calls() -> None:
    report = onnxpert.diagnose(Warms().eval(), (torch.randn(3),))
    assert marks(report, "STA305") == {"calls": Severity.ERROR}


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1  # calls
        return x * 2


def test_a_counter_that_decides_nothing_is_a_warning() -> None:
    report = onnxpert.diagnose(Counts().eval(), (torch.randn(3),))
    assert report.ok
    assert marks(report, "STA302") == {"calls": Severity.WARNING}


class Follows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden: Tensor | None = None
        self.frame = 0
        self.last = torch.zeros(3)

    def forward(self, x: Tensor) -> Any:
        if self.hidden is None:
            self.hidden = torch.zeros(3)
        self.hidden = (self.hidden + x).tanh()  # hidden
        self.frame += 1  # frame
        self.last = x + 1  # last
        return self.hidden / self.frame


class Blocked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.follows = Follows()

    def forward(self, x: Tensor) -> Any:
        return self.follows(x) + torch.linalg.eigvals(x.outer(x)).real.sum()  # no lowering


def test_each_thing_that_is_kept_has_its_own_error() -> None:
    report = onnxpert.diagnose(Follows().eval(), (torch.randn(3),))
    assert marks(report, "STA305") == {"hidden": Severity.ERROR, "frame": Severity.ERROR}
    assert marks(report, "STA302") == {"last": Severity.WARNING}


def test_it_is_told_beside_other_errors() -> None:
    report = onnxpert.diagnose(Blocked().eval(), (torch.randn(3),))
    assert marks(report, "OPS501") == {"no lowering": Severity.ERROR}
    assert marks(report, "STA305") == {"hidden": Severity.ERROR, "frame": Severity.ERROR}


class Normalises(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.count = 1e-4

    def forward(self, x: Tensor) -> Tensor:
        total = self.count + len(x)
        self.mean = self.mean + (x.mean(0) - self.mean) * len(x) / total  # mean
        self.count = total  # count
        return x - self.mean


def test_what_only_shows_together_with_another_thing() -> None:
    report = onnxpert.diagnose(Normalises().eval(), (torch.randn(2, 3),))
    assert marks(report, "STA305") == {"mean": Severity.ERROR, "count": Severity.ERROR}


class Numbers(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        key = int(x[0])
        if key not in NUMBERED:
            NUMBERED[key] = len(NUMBERED)  # numbered
        return x + NUMBERED[key]


def test_a_variable_that_shows_after_another_input_only() -> None:
    report = onnxpert.diagnose(Numbers().eval(), (torch.tensor([3, 4, 5]),))
    assert "numbered" in marks(report, "STA305")


def positions(length: int) -> Tensor:
    if length not in TABLES:
        TABLES[length] = torch.exp(torch.arange(length) * -math.log(10.0))
    return TABLES[length]


class Positions(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + positions(x.shape[0])


def test_a_variable_that_caches_what_a_size_decides_is_no_warning() -> None:
    shapes = ({0: "length"},)
    report = onnxpert.diagnose(Positions().eval(), (torch.randn(3),), dynamic_shapes=shapes)
    assert report.ok
    assert [f.severity for f in report.findings if f.rule == "STA307"] == [Severity.INFO]


class Schedule:
    def __init__(self) -> None:
        self.step = -1
        self.kept = 0

    def begin(self) -> None:
        self.step = 0  # step

    def next(self, x: Tensor) -> Tensor:
        self.step += 1
        self.kept += 1  # kept
        return x * self.step


class Samples(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.schedule = Schedule()

    def forward(self, x: Tensor) -> Tensor:
        self.schedule.begin()
        for _ in range(3):
            x = self.schedule.next(x)
        return x


def test_an_object_that_every_call_sets_up_again_is_no_warning() -> None:
    report = onnxpert.diagnose(Samples().eval(), (torch.randn(3),))
    assert report.ok
    found = marks(report, "STA302")
    assert found["step"] is Severity.INFO
    assert found["kept"] is Severity.WARNING


class Draws(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.ones(3))
        self.seen = 0

    def forward(self, x: Tensor) -> Tensor:
        self.weight.data *= 0.9  # weight
        self.seen += 1  # seen
        return x * self.weight / self.seen + torch.randn(3, generator=self.generator)


def test_it_is_told_of_a_model_that_also_draws_and_writes_its_weights() -> None:
    report = onnxpert.diagnose(Draws().eval(), (torch.randn(3),))
    assert marks(report, "STA301") == {"weight": Severity.ERROR}
    assert marks(report, "STA305") == {"seen": Severity.ERROR}


class Counters(nn.Module):
    def __init__(self, many: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Counts() for _ in range(many))

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x


def test_counters_that_decide_nothing_are_asked_about_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    call = Reference.call
    monkeypatch.setattr(Reference, "call", lambda *given: (asked.append(given), call(*given))[1])
    calls = []
    for many in (2, 12):
        asked.clear()
        assert onnxpert.diagnose(Counters(many).eval(), (torch.randn(3),)).ok
        calls.append(len(asked))
    assert calls[0] == calls[1]


class KeepsGrid(nn.Module):
    def __init__(self, blocked: bool) -> None:
        super().__init__()
        self.blocked = blocked
        self.grid: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.grid is None:
            self.grid = torch.arange(x.shape[1])  # grid
        if self.blocked:
            x = x + len(hashlib.md5(x.numpy().tobytes()).hexdigest())
        return x[:, : int(x.min())] + self.grid.sum()


@pytest.mark.parametrize("sizes", [None, ({1: "n"},)])
def test_a_cache_beside_an_obstacle_is_fine_if_other_sizes_make_it_anew(sizes: Any) -> None:
    model = KeepsGrid(blocked=True).eval()
    report = onnxpert.diagnose(model, (torch.ones(2, 5),), dynamic_shapes=sizes)
    assert not report.ok
    (told,) = [finding for finding in report.findings if finding.rule == "STA302"]
    assert told.severity is Severity.INFO
    assert told.help.startswith("nothing to do if the proof" if sizes else "nothing to do: ")


def test_what_is_kept_of_the_first_size_is_an_error_where_values_are_asked_about_too() -> None:
    """Several cases at the example's size come before the first of another one."""
    model = KeepsGrid(blocked=False).eval()
    report = onnxpert.diagnose(model, (torch.ones(2, 5),), dynamic_shapes=({1: "n"},))
    assert marks(report, "STA305") == {"grid": Severity.ERROR}
