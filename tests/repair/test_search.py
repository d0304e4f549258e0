"""The search for a change: how long it may take, and at what it is compared."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from onnxpert.core import deadline
from onnxpert.engine.fixing import fix, offering
from onnxpert.engine.fixing.plain import agree, catches_sometimes, outcomes
from onnxpert.engine.fixing.trying import Job

from .cases import source


def test_the_search_ends_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.py"
    path.write_text(source("return x if x.sum() > 0 else -x"), encoding="utf-8")
    monkeypatch.setattr(fix, "_SEARCH", 0.0)
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert not fixed.diff
    assert fixed.notes[-1] == fix._LATE


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("return x if x.sum() > 0 else -x", {"CAP021"}),
        ("return torch.linalg.eigvals(x @ x.T).real", {"OPS501"}),
    ],
    ids=["mended", "nothing to be had but the findings"],
)
def test_a_model_that_takes_long_as_it_is_does_not_end_the_search(
    body: str, rules: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.py"
    path.write_text(source(body), encoding="utf-8")
    monkeypatch.setattr(fix, "_FIRST", 0.0)
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert bool(fixed.diff) is ("CAP021" in rules), fixed.notes
    assert {each.rule for each in fixed.before.findings if each.blocks} == rules


def test_a_rehearsal_that_takes_too_long_is_broken_off() -> None:
    from onnxpert.core.types import Request
    from onnxpert.engine import pipeline

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if x.sum() > 0 else x - 1

    asked = Request(Net(), (torch.ones(2),), verify=False)
    with deadline.at_most(0.0):
        (finding,) = pipeline.rehearse(asked).findings
    assert "did not end within 0 s" in finding.message
    assert not deadline.is_over()
    assert pipeline.rehearse(asked).ok


GATED = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        {}
        return x


def example_inputs():
    return (torch.randn(2, 8),)
"""


def test_what_only_other_weights_decide_is_compared(tmp_path: Path) -> None:
    """No input makes this gain large, and the user's trained one may be."""
    path = tmp_path / "net.py"
    gated = GATED.format("if self.gain.tanh() > 0.5:\n            x = x * 2")
    path.write_text(gated, encoding="utf-8")
    job = Job(f"{path}:Net", (), None, True, {})
    both = [outcomes(job.load({path: text})) for text in (gated, GATED.format("pass"))]
    assert not agree(*both)
    assert agree(both[0], outcomes(job.load({path: gated})))


COUNTED = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, step):
        return x * {}


def example_inputs():
    return torch.randn(2, 8), torch.tensor(3)
"""


def test_other_whole_numbers_are_compared(tmp_path: Path) -> None:
    """The example has one step alone, and the model may be asked for any."""
    path = tmp_path / "net.py"
    texts = [COUNTED.format(each) for each in ("step", "(0.5 if step == 0 else step)")]
    path.write_text(texts[0], encoding="utf-8")
    job = Job(f"{path}:Net", (), None, True, {})
    assert not agree(*(outcomes(job.load({path: text})) for text in texts))


STEEP = """\
import bisect

import torch

KNOTS = [-2.0, 0.0, 2.5]
VALUES = [0.0, 0.4, 1.0]


class Net(torch.nn.Module):
    def forward(self, x):
        s = x.sum().tanh().item()
        if s >= KNOTS[-1]:
            return x * VALUES[-1]
        i = bisect.bisect(KNOTS, s)
        return x * (VALUES[i] - VALUES[i - 1])


def example_inputs():
    return (torch.randn(2, 8),)
"""


def test_a_list_is_not_asked_beyond_its_end_on_the_side_that_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(STEEP, encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert fixed.plain, fixed.notes
    assert "torch.tensor(VALUES)[i.clamp(-3, 2)]" in fixed.diff


def test_one_change_that_is_in_the_way_of_the_others_is_left_out(tmp_path: Path) -> None:
    """What a turn hands on grows, which Python does not mind and torch's scan does."""
    path = tmp_path / "net.py"
    body = "h = x[0]\nfor t in range(len(x)):\n    h = torch.cat([h, x[t]])\nreturn Result(h)"
    path.write_text(source(body), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert fixed.plain, fixed.notes
    assert [name for name, _ in fixed.codemods] == ["register-results"]


CAUGHT = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        high = x > 1.5
        try:
            most = x[high].max()
        except RuntimeError:
            most = x.min()
        return x * {}


def example_inputs():
    return (torch.tensor([[2.0, -1.0, 0.5, 0.1]]),)
"""


def test_an_error_that_only_some_values_raise_is_seen(tmp_path: Path) -> None:
    """Nothing is larger than 1.5 in some draws, and a file has no `except`."""
    path = tmp_path / "net.py"
    texts = [CAUGHT.format("most"), CAUGHT.format("most").replace("1.5", "-1e9")]
    path.write_text(texts[0], encoding="utf-8")
    job = Job(f"{path}:Net", (), None, True, {})
    found = [catches_sometimes(job.load({path: text}), {str(path)}) for text in texts]
    assert found == [True, False]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "return x * max(x[0].tolist())",
            (
                "where an input has NaN it computes something else than before, "
                "by keep-as-tensor with compute-with-torch"
            ),
        ),
        (
            "y = self.fc(x)\ny = y / math.sqrt(y.var())\nreturn y if y.sum() > 0 else -y",
            offering._LEARNS,
        ),
        ("y = self.fc(x)\nreturn y if y.sum() > 0 else -y", ""),
    ],
    ids=["else at NaN", "other gradients", "the same"],
)
def test_what_is_not_as_it_was_is_told(body: str, told: str, tmp_path: Path) -> None:
    """Python's max passes over what follows a number and is none, torch's does not."""
    path = tmp_path / "net.py"
    path.write_text(source(body), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert fixed.plain, fixed.notes
    assert "; ".join(fixed.notes) == told
