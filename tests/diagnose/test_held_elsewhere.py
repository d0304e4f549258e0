"""What a model keeps where no module shows it: in objects, variables, iterators, its own `__dict__`."""

from __future__ import annotations

import functools
import itertools
import os
import queue
import urllib.request
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from onnxpert.report import Report

TOTAL = torch.zeros(3)
NUMBERS = itertools.count(1)


def marked(report: Report, rule: str) -> list[str]:
    """The marks at the end of the lines of a rule's findings."""
    places = [f.location for f in report.findings if f.rule == rule and f.location]
    return [place.code.rpartition("# ")[2] for place in places]


class Ring:
    def __init__(self) -> None:
        self.keys = torch.zeros(2, 3)
        self.parts = [torch.zeros(3)]


class WritesInObjects(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ring = Ring()

    def forward(self, x: Tensor) -> Tensor:
        self.ring.keys[0] += x  # key
        self.ring.parts[0].add_(x)  # part
        TOTAL.add_(1)  # variable
        return x + self.ring.keys[0] + TOTAL


def test_tensors_of_objects_and_variables_that_are_written_in_place() -> None:
    model = WritesInObjects().eval()
    report = onnxpert.diagnose(model, (torch.ones(3),))
    assert marked(report, "STA301") == ["key", "part", "variable"]
    severities = [found.severity for found in report.findings if found.rule == "STA301"]
    assert severities == [Severity.ERROR, Severity.WARNING, Severity.ERROR]


def test_they_are_left_as_they_were() -> None:
    model = WritesInObjects().eval()
    onnxpert.diagnose(model, (torch.ones(3),))
    assert not model.ring.keys.any()
    assert not model.ring.parts[0].any()
    assert not TOTAL.any()


class StepsVariable(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * next(NUMBERS)  # number


def test_an_iterator_among_the_variables_goes_on() -> None:
    report = onnxpert.diagnose(StepsVariable().eval(), (torch.ones(3),))
    assert marked(report, "STA305") == ["number"]


class CountsInDict(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = 0

    def __getattr__(self, name: str) -> object:
        if name == "gain":
            self.__dict__["used"] += 1  # count
            return 2.0
        return super().__getattr__(name)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gain  # type: ignore[operator]


def test_an_attribute_that_is_written_past_setattr_has_its_line() -> None:
    report = onnxpert.diagnose(CountsInDict().eval(), (torch.ones(3),))
    assert marked(report, "STA302") == ["count"]


class Leaky(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.RReLU()

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(x)  # act
        return x + torch.randn_like(x)  # noise


def test_what_draws_in_training_only_is_not_named() -> None:
    report = onnxpert.diagnose(Leaky().eval(), (torch.randn(3),))
    assert marked(report, "NUM702") == ["noise"]


class Tall(nn.Module):
    def forward(self, x: Tensor) -> Tensor:  # forward
        return torch.linspace(0, 1, x.shape[0]) * x


def test_what_the_nearest_opset_lacks_is_only_told_once() -> None:
    sizes = ({0: "n"},)
    model = Tall().eval()
    report = onnxpert.diagnose(model, (torch.ones(4),), dynamic_shapes=sizes, opset_version=9)
    assert marked(report, "VER601") == ["forward"]
    rest = [found for found in report.findings if found.rule != "VER601"]
    assert all(found.severity is Severity.INFO for found in rest)
    assert len([found for found in rest if found.rule == "OPS502"]) <= 1


def test_what_is_said_of_the_whole_model_has_a_line() -> None:
    report = onnxpert.diagnose(Tall().eval(), (torch.ones(4),), target="tensorrt")
    assert marked(report, "TGT810") == ["forward"]
    assert all(found.severity is Severity.INFO for found in report.findings)


class Memo:
    def __init__(self) -> None:
        self.grids: dict[tuple[int, int], Tensor] = {}

    def grid(self, h: int, w: int) -> Tensor:
        key = (int(h), int(w))
        if key not in self.grids:
            self.grids[key] = torch.ones(h * w)
        return self.grids[key]


class Anchors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memo = Memo()

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.max_pool2d(x, 2)
        return self.memo.grid(y.shape[-2], y.shape[-1]) + y.flatten()


def test_a_table_of_an_objects_takes_sizes_for_keys() -> None:
    sizes = ({1: "h", 2: "w"},)
    report = onnxpert.diagnose(Anchors().eval(), (torch.randn(1, 6, 8),), dynamic_shapes=sizes)
    assert report.ok
    assert {found.rule for found in report.findings} <= {"STA302", "SHP214"}


class OfItsClass(nn.Module):
    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        OfItsClass.calls += 1
        return x * 2


def test_an_attribute_of_a_class_is_called_so() -> None:
    report = onnxpert.diagnose(OfItsClass().eval(), (torch.ones(3),))
    (found,) = [each for each in report.findings if each.rule == "STA302"]
    assert "OfItsClass.calls" in found.message


class Asks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        proxies = urllib.request.getproxies()  # which asks the environment on its own account
        return x * (os.getpid() % 2) + float(os.getenv("GAIN", "2")) + 0 * len(proxies)  # asked


def test_what_the_process_is_asked_for() -> None:
    report = onnxpert.diagnose(Asks().eval(), (torch.ones(3),))
    assert marked(report, "STA309") == ["asked", "asked"]


class Record(nn.Module):
    def forward(self, x: Tensor, record: dict[str, int]) -> Tensor:
        return x * record["scale"]


def test_a_number_that_nobody_reads_is_passed_over() -> None:
    report = onnxpert.diagnose(Record().eval(), (torch.ones(3), {"scale": 2, "age": 61}))
    (found,) = [each for each in report.findings if each.rule == "INP123"]
    assert 'record["scale"]' in found.message


class Registers(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        self.register_buffer("last", y, persistent=False)  # buffer
        return y


def test_a_buffer_that_forward_registers() -> None:
    report = onnxpert.diagnose(Registers().eval(), (torch.ones(3),))
    assert marked(report, "STA302") == ["buffer"]


class MakesGenerators(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        seeded = np.random.default_rng(3)
        x = x + float(seeded.normal())
        drawn = np.random.default_rng()
        return x * float(drawn.normal())  # draw


class MakesStates(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x + float(np.random.RandomState(3).randn())
        drawn = np.random.RandomState()
        assert isinstance(drawn, np.random.RandomState)
        return x * torch.from_numpy(drawn.randn(*x.shape)).float()  # draw


@pytest.mark.parametrize(
    "model", [MakesGenerators(), MakesStates()], ids=lambda m: type(m).__name__
)
def test_a_generator_without_a_seed_draws_where_it_is_asked(model: nn.Module) -> None:
    report = onnxpert.diagnose(model.eval(), (torch.ones(3),))
    assert marked(report, "NUM703") == marked(report, "NUM702") == ["draw"]
    assert not marked(report, "STA305")  # it remembers nothing, and no seed brings an answer back


class Shapes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, ...]] = set()

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add(tuple(x.shape))  # shape
        return x * 2


def test_a_set_of_sizes() -> None:
    model = Shapes().eval()
    report = onnxpert.diagnose(model, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    assert report.ok
    assert marked(report, "STA302") == ["shape"]
    assert not model.seen


class KeepsTogether(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state = SimpleNamespace(mean=None)
        self.results: queue.Queue[int] = queue.Queue()

    def forward(self, x: Tensor) -> Tensor:
        self.state.mean = x.mean()  # name
        self.results.put(x.shape[0])  # queue
        return x * 2


def test_what_is_kept_in_objects_of_pythons_own_classes() -> None:
    model = KeepsTogether().eval()
    report = onnxpert.diagnose(model, (torch.ones(3),))
    assert sorted(marked(report, "STA302")) == ["name", "queue"]
    assert model.state.mean is None
    assert model.results.empty()


class Keeps:
    def __init__(self) -> None:
        self.rows: list[Tensor] = []
        self.calls = 0

    def __call__(self, module: nn.Module, args: Any, out: Tensor) -> Tensor:
        self.rows.append(out.sum())  # kept
        return out + sum(self.rows)

    def count(self, module: nn.Module, args: Any) -> None:
        self.calls += 1  # counted


def _last(store: dict[str, Tensor], module: nn.Module, args: Any, out: Tensor) -> None:
    store["last"] = out  # stored


def test_what_objects_keep_that_are_hooks_is_told_and_put_back() -> None:
    model, keeps, store = nn.Sequential(nn.Linear(3, 3)).eval(), Keeps(), {}
    model[0].register_forward_hook(keeps)
    model[0].register_forward_pre_hook(keeps.count)
    model[0].register_forward_hook(functools.partial(_last, store))
    report = onnxpert.diagnose(model, (torch.randn(2, 3),))
    told = {*marked(report, "STA302"), *marked(report, "STA305")}
    assert told == {"kept", "counted", "stored"}
    assert (keeps.rows, keeps.calls, store) == ([], 0, {})
