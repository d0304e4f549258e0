"""The scout: past the first blocker, with the example's own values."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import threading
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture import capture
from onnxpert.capture.scouting import survey
from onnxpert.capture.scouting.scout import Scout
from onnxpert.core.types import Asked, CaptureFailed, Request
from onnxpert.load import load


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:  # branch
            return x * 2
        return x - 1


class Loops(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while x.abs().max() > 1:  # loop
            x = x / 2
        return x


class Leaves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.from_numpy(numpy.unwrap(x.numpy()))  # numpy


class Counts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for step in range(int(x.abs().sum()) % 3 + 1):  # loop
            x = x + step
        assert x.max() < 1000  # assertion
        return x * {1: 0.5, 2: 2.0}.get(int(x.sum()), 1.0)  # number


class Stores(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch.save(x, io.BytesIO())  # call
        return x


class Raises(nn.Module):
    """Fails on anything that is not a plain tensor, after a part that can be looked into."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Branches()

    def forward(self, x: Tensor) -> Tensor:
        values = [float(v) for v in x.flatten().numpy()]
        if type(x) is not Tensor:
            raise TypeError("a plain tensor is needed")  # call
        return self.inner(x) + values[0]


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Sequential(Branches(), Loops(), Leaves(), Counts(), Stores())

    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.eigvals(self.parts(x)).real


def failed(model: nn.Module, *args: Any, **options: Any) -> CaptureFailed:
    found = capture(load(Request(model.eval(), args, **options)))
    assert isinstance(found, CaptureFailed)
    return found


@pytest.mark.parametrize("dynamic", [None, ({0: "rows"},)], ids=["static", "dynamic"])
def test_one_run_meets_every_blocker_at_its_line(dynamic: Any) -> None:
    found = failed(Everything(), torch.full((3, 3), 2.0), dynamic_shapes=dynamic)
    kinds = {}
    for blocker in found.blockers:
        assert blocker.location is not None
        assert blocker.location.file == __file__
        assert blocker.location.code.endswith(f"# {blocker.asked}"), blocker
        kinds.setdefault(blocker.asked, blocker.location.module)
    assert kinds == {
        Asked.BRANCH: "parts.0",
        Asked.LOOP: "parts.1",
        Asked.NUMPY: "parts.2",
        Asked.NUMBER: "parts.3",
        Asked.ASSERTION: "parts.3",
        Asked.CALL: "parts.4",
    }


def test_the_graph_goes_on_behind_the_blockers() -> None:
    found = failed(Everything(), torch.full((3, 3), 2.0))
    assert found.scouted is not None
    targets = [str(node.target) for node in found.scouted.root.graph.nodes]
    assert "aten.linalg_eigvals.default" in targets


def test_a_stand_in_fixes_no_size() -> None:
    found = failed(Leaves(), torch.randn(3, 4), dynamic_shapes=({0: "rows"},))
    assert found.scouted is not None
    assert found.scouted.guards == ()


def test_the_parts_of_a_module_that_raises_are_looked_into() -> None:
    found = failed(Raises(), torch.ones(3))
    assert [b.asked for b in found.blockers if b.location and b.location.module == "inner"] == [
        Asked.BRANCH
    ]


def test_the_users_model_and_buffers_are_as_they_were() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.seen: list[Any] = []

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            self.seen.append(x)
            return x * float(numpy.ptp(x.numpy())) * torch.from_numpy(numpy.unwrap(x.numpy()))

    model = Keeps()
    x = torch.randn(3)
    before = x.clone()
    failed(model, x)
    assert model.calls == 0
    assert model.seen == []
    assert torch.equal(x, before)


def test_a_lone_number_is_not_taken_for_a_constant() -> None:
    class Digits(nn.Module):
        def forward(self, x: Tensor, number: Tensor) -> Any:
            return x * bin(int(number)).count("1")

    found = failed(Digits(), torch.randn(1, 2), torch.tensor(1))
    assert [blocker.asked for blocker in found.blockers] == [Asked.NUMBER]


def met(model: nn.Module, *args: Any) -> set[tuple[Asked, str]]:
    """What was met, by the mark at the end of its line."""
    found = failed(model, *args)
    return {(b.asked, b.location.code.rpartition("# ")[2]) for b in found.blockers if b.location}


def everything_is_marked(model: nn.Module, *args: Any) -> bool:
    blockers = failed(model, *args).blockers
    return bool(blockers) and all(
        b.location is not None and b.location.code.endswith(f"# {b.asked}") for b in blockers
    )


class GoesOn(nn.Module):
    """Raises on anything that is no plain tensor, in the body that goes on afterwards."""

    def forward(self, x: Tensor) -> Tensor:
        if type(x) is not Tensor:
            raise TypeError("a plain tensor is needed")  # call
        y = x * 2
        if y.sum() > 0:  # branch
            y = y + 1
        values = y.tolist()  # numpy
        while y.max() > 5:  # loop
            y = y / 2
        chosen = [1, 2, 3][int(y.argmax()) % 3]  # number
        scale = y.std().item()
        return torch.linalg.eigvals(y).real * chosen + len(values) + scale


def test_what_comes_after_an_exception_is_met_too() -> None:
    found = failed(GoesOn(), torch.full((3, 3), 2.0))
    kinds = {b.asked for b in found.blockers}
    assert kinds == {Asked.CALL, Asked.BRANCH, Asked.NUMPY, Asked.LOOP, Asked.NUMBER}
    assert everything_is_marked(GoesOn(), torch.full((3, 3), 2.0))
    assert found.scouted is not None
    targets = [str(node.target) for node in found.scouted.root.graph.nodes]
    assert targets.count("aten.linalg_eigvals.default") == 1


def test_a_number_is_blamed_on_the_line_that_took_it() -> None:
    class Looks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            every = x.argmax().item()  # number
            y = x * 2
            return y * sum([0.5, 0.25, 3.0, 0.1, 7.0, 2.0, 0.3, 5.0, 0.7][:: every + 1])  # needed

    (blocker,) = failed(Looks(), torch.tensor([0.0, 1.0])).blockers
    assert blocker.asked is Asked.NUMBER
    assert blocker.location is not None
    assert blocker.location.code.endswith("# number")
    assert blocker.needed is not None
    assert blocker.needed.code.endswith("# needed")


def test_a_list_as_long_as_the_data_say_is_a_value_taken_out() -> None:
    class Lists(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            kept = x[x > 0].tolist()  # numpy
            return x + len(set(kept))

    assert everything_is_marked(Lists(), torch.tensor([-1.0, 1.0, 2.0]))


def test_a_thread_is_named_where_it_is_started() -> None:
    class Threads(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            results: list[Tensor] = []
            worker = threading.Thread(target=lambda: results.append(x * 2))
            worker.start()  # call
            worker.join()
            return results[0] + 1

    assert met(Threads(), torch.ones(3)) == {(Asked.CALL, "call")}


def test_a_sparse_tensor_does_not_end_the_diagnosis() -> None:
    class Sparse(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.sparse.mm(x.to_sparse(), x)  # product
            if y.sum() > 0:  # branch
                y = y + 1
            return y

    report = onnxpert.diagnose(Sparse().eval(), (torch.eye(3),))
    places = ((found.rule, found.location) for found in report.findings)
    told = {(rule, at.code.rpartition("# ")[2]) for rule, at in places if at is not None}
    assert told == {("OPS501", "product"), ("CTL406", "branch")}


def test_what_a_dictionary_keeps_of_a_body_is_gone_before_the_body_is_run_for_real() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.kept: dict[str, Tensor] = {}
            self.names = sqlite3.connect(":memory:")

        def forward(self, x: Tensor) -> Tensor:
            key = hashlib.md5(x.numpy().tobytes()).hexdigest()  # digest
            if key not in self.kept:
                self.kept[key] = self.layer(x)  # kept
            y = self.kept[key] * 2
            ask = self.names.execute
            rows = [ask("select ?", (one,)).fetchone()[0] for one in y.argmax(-1).tolist()]  # rows
            return y + torch.tensor(rows)[:, None]

    report = onnxpert.diagnose(Keeps().eval(), (torch.randn(2, 4),))
    told = {
        (found.rule, found.location.code.rpartition("# ")[2])
        for found in report.findings
        if found.location
    }
    assert told == {("CTL402", "digest"), ("CTL402", "rows"), ("STA302", "kept")}


def test_gradients_in_the_forward_do_not_hide_what_follows() -> None:
    class Differentiates(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            with torch.enable_grad():
                y = x.detach().requires_grad_(True)
                (slope,) = torch.autograd.grad((y * y).sum(), y)
            return slope + torch.from_numpy(numpy.unwrap(slope.numpy()))  # numpy

    assert everything_is_marked(Differentiates(), torch.ones(3))


class Halves(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, rows: Tensor) -> Tensor:
        kept = []
        while rows.numel() > 0:  # loop
            kept.append(rows[0])
            rows = rows[1:][rows[1:] >= 0]
        found = torch.stack(kept)[: self.length].view(self.length)
        return found + torch.from_numpy(numpy.unwrap(found.numpy()))  # numpy


@pytest.mark.parametrize(("length", "runs"), [(4, 1), (40, 2)])
def test_a_loop_is_left_after_a_few_turns_unless_that_is_why_something_fails(
    length: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Scout] = []

    def make(*given: Any) -> Scout:
        made.append(Scout(*given))
        return made[-1]

    monkeypatch.setattr(survey, "Scout", make)
    found = survey.scout(load(Request(Halves(length).eval(), (torch.arange(40.0),))))
    places = {one.location: one.asked for one in found.blockers if one.location is not None}
    lines = {at.code.rpartition("# ")[2]: asked for at, asked in places.items()}
    assert lines == {"loop": Asked.LOOP, "numpy": Asked.NUMPY}
    assert len(made) == runs


class Files(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        least = min(x.tolist())  # taken
        text = json.dumps({"least": least})
        if 2 * least > 1:  # branch
            x = x * 2
        level = 1 if x.mean().item() < 3 else least  # other
        assert least + level < 9  # check
        return x, len(text)


def test_a_number_that_has_to_be_pythons_own_still_tells_what_it_decides() -> None:
    report = onnxpert.diagnose(Files().eval(), (torch.ones(3),))
    told = {(f.rule, f.location.code.rpartition("# ")[2]) for f in report.findings if f.location}
    expected = {("CTL402", "taken"), ("CTL401", "branch"), ("CTL401", "other"), ("CTL404", "check")}
    assert expected <= told
