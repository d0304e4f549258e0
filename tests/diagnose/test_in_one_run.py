"""Several blockers in one model, each named at its own line in the same run."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import onnxpert

LINES: list[Any] = []


class Store:
    """An object of the user's that remembers."""

    def __init__(self) -> None:
        self.keys: Any = None

    def update(self, x: Tensor) -> Tensor:
        self.keys = x if self.keys is None else torch.cat([self.keys, x])  # STA302
        return self.keys


class Logs:
    """Half of a model."""

    def log(self, value: Tensor) -> None:
        if not hasattr(self, "logged"):
            self.logged: dict[str, Any] = {}
        self.logged["mean"] = value  # STA302


class HoldsObject(nn.Module, Logs):
    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.hidden: Any = None

    def forward(self, x: Tensor) -> Tensor:
        if self.hidden is None:
            self.hidden = torch.zeros_like(x)
        self.hidden = self.hidden * 0.5 + x  # STA302
        self.log(x.mean())
        names = ("a", "b", "c")
        LINES.append(names[x.argmax().item()])  # CTL405, STA307
        return self.store.update(x) + torch.rand(3)  # NUM702


class Compares(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.equal(x.argmax(0), torch.tensor(0)):  # CTL406
            x = x + 1
        order = sorted(x.tolist())  # CTL411
        return torch.linalg.eigvals(x[:, None] * order[0] * x)  # OPS501


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[int] = set()

    def forward(self, x: Tensor) -> Tensor:
        self.seen.update(x.long().flatten().tolist())  # CTL402, STA302
        return x + torch.ones(6, 4)  # SHP201


class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings(action="ignore"):
            self.part = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
        self.count = {"a": {"n": 0}}

    def forward(self, x: Tensor) -> Tensor:
        x = self.part(x)
        self.count["a"]["n"] += 1  # STA302
        return x * float(x.numpy().std())  # CTL402


class Batch:
    """Neither a dataclass nor known to torch."""

    def __init__(self) -> None:
        self.x = torch.tensor([1.0, -2.0, 0.5])


class TakesObject(nn.Module):
    def forward(self, batch: Batch) -> Tensor:  # INP105
        y = batch.x
        if y.sum() > 0:  # CTL406
            y = y * 2
        return torch.linalg.eigvals(y[:, None] * y)  # OPS501


CASES: dict[str, tuple[type[nn.Module], Any, dict[str, Any]]] = {
    "an object that remembers": (HoldsObject, torch.tensor([1.0, 3.0, 2.0]), {}),
    "comparisons": (Compares, torch.randn(12, generator=torch.Generator().manual_seed(0)), {}),
    "a list as long as a size": (Listed, torch.ones(6, 4), {"dynamic_shapes": ({0: "n"},)}),
    "a scripted part": (Scripted, torch.ones(2, 3), {}),
    "an unknown object": (TakesObject, Batch(), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_every_blocker_is_named_at_its_line(name: str) -> None:
    kind, given, options = CASES[name]
    report = onnxpert.diagnose(kind().eval(), (given,), **options)
    found = {(each.rule, each.location.code) for each in report.findings if each.location}
    for rule, code in found:
        wanted = code.rpartition("  # ")[2].split(", ") if "  # " in code else []
        serious = any(
            each.rule == rule
            and each.location is not None
            and each.location.code == code
            and each.severity is not onnxpert.Severity.INFO
            for each in report.findings
        )
        assert rule in wanted or not serious, (rule, code)
    for code in _marked(kind):
        for rule in code.rpartition("  # ")[2].split(", "):
            assert (rule, code) in found, (rule, code)


def _marked(kind: type[nn.Module]) -> list[str]:
    """The lines of a model, and of what it is made of, that say which rule they break."""
    parts = [kind, *([Store, Logs] if kind is HoldsObject else [])]
    text = "\n".join(inspect.getsource(part) for part in parts)
    return [line.strip() for line in text.splitlines() if "  # " in line]


def test_what_the_model_itself_raises_is_not_blamed_on_the_line_a_capture_stopped_at() -> None:
    class Raises(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            taken = numpy.unwrap(x.numpy() if x.shape[0] > 1 else x)  # taken
            return torch.from_numpy(taken).reshape(7)  # raises

    report = onnxpert.diagnose(Raises().eval(), (torch.ones(3),))
    found = {each.rule: each.location for each in report.findings if each.blocks}
    places = {rule: at.code.rpartition("# ")[2] for rule, at in found.items() if at is not None}
    assert places == {"INP119": "raises", "CTL402": "taken"}


class TakesThree(nn.Module):
    def forward(self, x: Tensor, scale: float, shift: Tensor) -> Tensor:
        if x.shape[0] > 1:
            x = x + shift
        return torch.linalg.eigvals(x * scale)


@pytest.mark.parametrize("extra", [(), (2.0,), (2.0, torch.ones(3), torch.ones(3))])
def test_what_an_example_that_does_not_fit_hides_is_found_too(extra: tuple[Any, ...]) -> None:
    report = onnxpert.diagnose(TakesThree(), (torch.randn(3, 3), *extra))
    found = [each.rule for each in report.findings if each.severity == "error"]
    assert found == ["INP104", "OPS501"]


class Ignores(nn.Module):
    def forward(self, x: Tensor, country: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, bytes]:
        return x + batch["used"], x.numpy().tobytes()


def test_an_input_that_nothing_reads_is_told_of_a_model_that_has_a_blocker() -> None:
    args = (torch.ones(3), torch.ones(2), {"used": torch.ones(3), "unused": torch.ones(1)})
    report = onnxpert.diagnose(Ignores().eval(), args)
    assert not report.ok
    told = [one.message.split()[-1] for one in report.findings if one.rule == "INP114"]
    assert told == ["country", "batch_unused"]


class TakesAll(nn.Module):
    def forward(self, x: Tensor, **options: Tensor) -> tuple[Tensor, bytes]:
        return x + sum(options.values()), x.numpy().tobytes()


def test_an_input_that_goes_by_another_name_is_not_said_to_be_unread() -> None:
    report = onnxpert.diagnose(TakesAll().eval(), (torch.ones(3),), kwargs={"scale": torch.ones(3)})
    assert "INP114" not in {one.rule for one in report.findings}


class SumsDoubles(nn.Module):
    """Sparse to torch, dense to a recording until somebody asks for what only sparse ones have."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, bytes]:
        places = x.nonzero().T
        found = torch.sparse_coo_tensor(
            places, x[places[0], places[1]], x.shape
        ).coalesce()  # first
        dense = found.to_dense()
        y = dense * 2 if dense.sum() > 0 else dense
        rows = y.to_sparse_csr().crow_indices()  # second
        return y, rows, x.numpy().tobytes()  # third


def test_what_asks_for_a_sparse_tensor_hides_nothing_behind_it() -> None:
    report = onnxpert.diagnose(SumsDoubles().eval(), (torch.eye(3),))
    lines, start = inspect.getsourcelines(SumsDoubles)
    wanted = {start + at for at, line in enumerate(lines) if "  # " in line}
    found = {one.location.line for one in report.findings if one.location and one.blocks}
    assert wanted == found


class Ring(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.zeros(4, 3)
        self.place = 0
        self.gain = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.gain.data.mul_(0.99)
        self.rows[self.place % 4] = x[0]
        self.place += 1
        y = x * self.gain
        return (y.clamp(max=3.0) if y.max() > 3 else y), self.rows.mean(0)


def test_a_write_that_nobody_sees_in_the_graph_is_not_the_same_every_time() -> None:
    report = onnxpert.diagnose(Ring().eval(), (torch.rand(3, 3),))
    (told,) = [one for one in report.findings if "rows" in one.message]
    assert told.severity == "error"
