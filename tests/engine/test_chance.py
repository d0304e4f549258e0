"""Random models: drawn and proven as distributions, refused, or allowed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
import torch.nn.functional as F

import onnxpert
from onnxpert import Severity
from onnxpert.core.errors import UsageError
from onnxpert.verify.reference import Reference

X = torch.rand(3, 4, generator=torch.Generator().manual_seed(0))

DRAWS: dict[str, Callable[..., Any]] = {
    "randn": torch.randn_like,
    "uniform": lambda x: torch.empty_like(x).uniform_(-1, 2),
    "bernoulli": torch.bernoulli,
    "normal": lambda x: torch.normal(x, 2.0).t().reshape(-1),
    "multinomial": lambda x: torch.multinomial(x, 3),
    "multinomial, again": lambda x: torch.multinomial(x, 9, replacement=True),
    "dropout": lambda x: F.dropout(x, 0.3, training=True),
    "randperm": lambda x: torch.randperm(7),
    "poisson": torch.poisson,
    "binomial": lambda x: torch.binomial(torch.full_like(x, 9.0), x),
    "gamma": torch._standard_gamma,
    "dirichlet": torch._sample_dirichlet,
    "one element": lambda x: F.dropout(x[0, 0], 0.5, training=True),
}
MIXED: dict[str, Callable[..., Any]] = {
    "noise": lambda x: x + torch.randn_like(x),
    "sample": lambda x: torch.multinomial(x.softmax(-1), 1),
    "dropout": lambda x: F.dropout(x * 2, 0.5, training=True),
}


def _module(function: Callable[..., Any]) -> torch.nn.Module:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return function(x)

    return Model().eval()


def _chance(report: Any) -> list[Severity]:
    """What is said of chance; dropout and unused inputs have rules of their own."""
    return [finding.severity for finding in report.findings if finding.rule == "NUM702"]


@pytest.mark.parametrize("name", DRAWS)
def test_a_model_that_only_draws_is_proven_in_its_distribution(name: str, tmp_path: Path) -> None:
    report = onnxpert.export(_module(DRAWS[name]), (X,), tmp_path / "m.onnx")
    assert _chance(report) == [Severity.WARNING]
    assert any(row.case.endswith("draws") for row in report.verified)


@pytest.mark.parametrize("name", MIXED)
def test_chance_in_a_computation_is_refused_unless_allowed(name: str, tmp_path: Path) -> None:
    model = _module(MIXED[name])
    refused = onnxpert.diagnose(model, (X,))
    assert [f.rule for f in refused.findings if f.blocks] == [
        "STA311" if name == "dropout" else "NUM702"  # one thing is said once
    ]
    report = onnxpert.export(model, (X,), tmp_path / "m.onnx", randomness="allow")
    assert report.ok
    assert _chance(report) == [Severity.WARNING]


def test_a_file_draws_anew_at_every_run(tmp_path: Path) -> None:
    onnxpert.export(_module(lambda x: torch.rand(2, 3)), (X,), tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    feeds = {entry.name: X.numpy() for entry in session.get_inputs()}
    first, second = (session.run(None, feeds)[0] for _ in range(2))
    assert (first != second).all()


def test_memory_that_nobody_wrote_is_compared_in_shape(tmp_path: Path) -> None:
    model = _module(lambda x: (torch.empty_like(x), x.new_empty(2, dtype=torch.int32)))
    report = onnxpert.export(model, (X,), tmp_path / "m.onnx")
    assert _chance(report) == [Severity.WARNING]


def test_memory_that_is_filled_is_compared_in_value(tmp_path: Path) -> None:
    report = onnxpert.export(
        _module(lambda x: torch.empty_like(x).fill_(3)), (X,), tmp_path / "m.onnx"
    )
    assert not _chance(report)
    assert all(row.max_abs is not None for row in report.verified)


def test_a_sure_event_is_compared_in_value(tmp_path: Path) -> None:
    model = _module(torch.bernoulli)
    report = onnxpert.export(model, (torch.ones(3),), tmp_path / "m.onnx")
    assert report.verified[0].max_abs == 0.0


def test_another_level_is_told() -> None:
    with pytest.raises(UsageError, match="randomness"):
        onnxpert.diagnose(_module(MIXED["noise"]), (X,), randomness="maybe")


def test_dropout_inside_attention_is_allowed_when_asked() -> None:
    def attend(q: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    q = torch.randn(2, 3, 5, 8)
    assert not onnxpert.diagnose(attend, (q,)).ok
    assert onnxpert.diagnose(attend, (q,), randomness="allow").ok


def test_luck_that_did_not_show_is_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coin that falls on one side once in fifty looks certain in a dozen throws."""
    monkeypatch.setattr(Reference, "varies", lambda *_: False)
    report = onnxpert.export(_module(torch.bernoulli), (X,), tmp_path / "m.onnx")
    assert _chance(report) == [Severity.WARNING]
    assert any(row.case.endswith("draws") for row in report.verified)


def test_a_number_that_is_drawn_and_never_used_is_no_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Skipped(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            lot = torch.rand([])
            return x if self.training and lot < 0.1 else 2 * x

    monkeypatch.setattr(Reference, "varies", lambda *_: pytest.fail("nothing is left to luck"))
    report = onnxpert.diagnose(Skipped().eval(), (X,))
    assert report.ok
    assert not _chance(report)


def test_a_number_that_python_took_from_chance_is_chance() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rand([]).item()

    assert "NUM702" in [found.rule for found in onnxpert.diagnose(noisy, (X,)).findings]


class OnOneSide(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 1e6:
            return x + torch.rand(3)  # drawn
        return x * 2


def test_chance_on_the_side_that_the_example_does_not_take_is_named() -> None:
    report = onnxpert.diagnose(OnOneSide().eval(), (torch.zeros(3),))
    (found,) = [finding for finding in report.findings if finding.rule == "NUM702"]
    assert found.location is not None
    assert found.location.code.endswith("# drawn")
    assert not report.ok


class ByPython(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x
        return x * random.random()  # drawn


def test_chance_of_pythons_own_is_no_state() -> None:
    report = onnxpert.diagnose(ByPython().eval(), (torch.ones(3),))
    rules = {found.rule: found for found in report.findings}
    assert "STA305" not in rules
    assert {"NUM702", "NUM703", "STA302"} <= set(rules)
    assert rules["NUM702"].location is not None
    assert rules["NUM702"].location.code.endswith("# drawn")


def test_a_random_model_that_was_not_meant_to_be_is_told_at_once() -> None:
    """Its sizes are a matter of luck too, which is no reason to look for another file."""

    class Drawn(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[torch.randn_like(x[:, 0]) > 0] * 2

    torch.manual_seed(0)
    report = onnxpert.diagnose(Drawn().eval(), (torch.rand(40, 2),), dynamic_shapes=({0: "n"},))
    assert _chance(report) == [Severity.ERROR]
    assert {row.case for row in report.verified} == {"example"}
    assert [finding.rule for finding in report.findings if finding.blocks] == ["NUM702"]


TURNS = itertools.count()


class Counts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        noisy = x * torch.rand_like(x)  # drawn
        return noisy + next(TURNS)


def test_of_a_model_that_cannot_be_asked_again_nobody_says_that_it_has_a_seed() -> None:
    report = onnxpert.diagnose(Counts().eval(), (torch.ones(3),))
    found = next(one for one in report.findings if one.rule == "NUM702")
    assert found.location is not None
    assert found.location.code.endswith("# drawn")
    assert "same numbers" not in found.message
    assert "STA305" in {one.rule for one in report.findings}
