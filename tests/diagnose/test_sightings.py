"""What is said of lines that a call of the model itself was seen to run."""

from __future__ import annotations

import cProfile
import json
import logging
import pickle
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from onnxpert.report import Report

LOG = logging.getLogger(__name__)


def marked(report: Report, rule: str) -> list[str]:
    """The marks at the end of the lines of a rule's findings."""
    places = [f.location for f in report.findings if f.rule == rule and f.location]
    return [place.code.rpartition("# ")[2] for place in places]


class Clips(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        norm = float(x.norm())  # number
        if norm > 3.0:  # branch
            x = x * (3.0 / norm)
        return x + torch.from_numpy(np.sort(x.numpy()))  # array


def test_a_number_that_a_graph_can_have_is_no_error_beside_a_true_obstacle() -> None:
    report = onnxpert.diagnose(Clips().eval(), (torch.randn(3, 4),))
    assert marked(report, "CTL402") == ["array"]
    assert marked(report, "CTL401") == ["branch"]
    assert marked(report, "CTL411") == ["number"]
    assert not marked(report, "CTL405")


class WritesTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("hits", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.hits.add_(x)  # first
        y = x * 2
        self.hits.mul_(0.5)  # second
        return y


def test_each_line_that_writes_a_buffer_is_named() -> None:
    report = onnxpert.diagnose(WritesTwice().eval(), (torch.ones(3),))
    assert marked(report, "STA301") == ["first", "second"]


class OwnNumbers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 1.0]))

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.scale.tolist()
        return torch.from_numpy(np.sort(x.numpy())) * a + b  # array


def test_a_list_of_the_models_own_numbers_is_nothing_to_tell() -> None:
    report = onnxpert.diagnose(OwnNumbers().eval(), (torch.ones(3),))
    assert marked(report, "CTL402") == ["array"]
    assert not marked(report, "CTL411")


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 2))

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(())
        for row in x:
            state = torch.tanh(state + row.sum())
        return (x.t() @ self.weight) + state  # table


def test_a_frozen_size_is_at_the_line_that_refuses_another() -> None:
    shapes = ({0: "rows"},)
    report = onnxpert.diagnose(Table().eval(), (torch.ones(4, 3),), dynamic_shapes=shapes)
    assert marked(report, "SHP201") == ["table"]


class Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(3)

    def forward(self, x: Tensor) -> Tensor:
        SEEN.append(1)
        y = x + self.last
        self.last = x  # kept
        return y


SEEN: list[int] = []


def test_what_is_remembered_is_an_attribute_rather_than_a_log() -> None:
    report = onnxpert.diagnose(Remembers().eval(), (torch.ones(3),))
    assert marked(report, "STA305") == ["kept"]


class Randomised(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.rrelu(x - 1, training=True)  # rrelu


def test_a_leaky_unit_that_draws_is_told_like_a_dropout() -> None:
    report = onnxpert.diagnose(Randomised().eval(), (torch.ones(3),))
    assert marked(report, "STA311") == ["rrelu"]


@torch.library.custom_op("sightings::ranked", mutates_args=())
def ranked(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sort(x.numpy()))


@ranked.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Ranks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = ranked(x)  # operator
        return y * len(pickle.dumps(x))  # pickle


def test_an_operator_that_cannot_be_followed_is_at_its_call_beside_other_obstacles() -> None:
    report = onnxpert.diagnose(Ranks().eval(), (torch.ones(3),))
    assert marked(report, "OPS503")[:1] == ["operator"]
    assert marked(report, "CAP001") == ["pickle"]


class Fine(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x[x > 0].sum() + x.median()
        return y * torch.linalg.inv(x @ x.t() + torch.eye(3)).sum()


def test_what_the_file_has_is_never_more_than_information() -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(Fine().eval(), (torch.randn(3, 3),))
    assert report.ok
    assert {f.severity for f in report.findings} <= {Severity.INFO}


class Words(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        note = f"largest {x.max():.2f}"
        LOG.debug(note)
        key = f"{x.max():.2f}"  # text
        known = str(int(x.sum())) in ("17", "23")  # compared
        x = x * len(key) if known else x
        return x + torch.from_numpy(np.sort(x.numpy()))  # array


def test_texts_of_values_are_told_and_messages_are_not() -> None:
    report = onnxpert.diagnose(Words().eval(), (torch.randn(3),))
    assert marked(report, "CTL413") == ["text", "compared"]
    told = [each.severity for each in report.findings if each.rule == "CTL413"]
    assert told == [Severity.WARNING, Severity.WARNING]


class Digests(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        key = ",".join(str(i) for i in x.long().tolist())  # text
        return x * (sha256(key.encode()).digest()[0] > 100)


def test_a_digest_of_a_text_is_a_warning() -> None:
    report = onnxpert.diagnose(Digests().eval(), (torch.arange(3.0),))
    told = [each.severity for each in report.findings if each.rule == "CTL413"]
    assert (marked(report, "CTL413"), told) == (["text"], [Severity.WARNING])


class Buckets(nn.Module):
    """The text has a name, and is digested on another line, in another layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(16, 3)

    def forward(self, x: Tensor, kind: Tensor) -> Tensor:
        key = f"kind {kind.item()}"  # text
        place = int(sha256(key.encode()).hexdigest(), 16) % 16
        return x + self.table(torch.tensor(place))


def test_a_digest_on_another_line_is_a_warning_and_its_input_is_used() -> None:
    report = onnxpert.diagnose(Buckets().eval(), (torch.randn(3), torch.tensor(2)))
    told = [each.severity for each in report.findings if each.rule == "CTL413"]
    assert (marked(report, "CTL413"), told) == (["text"], [Severity.WARNING])
    assert marked(report, "INP114") == []


@torch.library.custom_op("onnxpert_sightings::sorts", mutates_args=())
def sorts(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sort(x.numpy()))  # body


class Calls(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return sorts(x)  # call


def test_an_opaque_operator_is_told_at_its_call_and_in_its_body() -> None:
    report = onnxpert.diagnose(Calls().eval(), (torch.randn(3),))
    assert marked(report, "OPS503") == ["call", "body"]
    assert [each.severity for each in report.findings] == [Severity.ERROR, Severity.INFO]


def test_an_opset_that_is_not_to_be_had_is_told_at_the_model() -> None:
    report = onnxpert.diagnose(Words().eval(), (torch.randn(3),), opset_version=5)
    (found,) = [each for each in report.findings if each.rule == "VER601"]
    assert found.location is not None
    assert found.location.function == "Words.forward"


class Remembering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        SEEN.append(float(x.max()))
        return x * self.seen


SEEN: list[float] = []


def test_layers_that_write_the_same_are_one_finding_and_its_calls_are_the_models_own() -> None:
    model = nn.Sequential(*(Remembering() for _ in range(3))).eval()
    report = onnxpert.diagnose(model, (torch.ones(2),))
    found = {each.rule: each for each in report.findings if each.rule in ("STA301", "STA307")}
    assert found["STA301"].message.startswith("forward changes the buffer seen")
    assert found["STA301"].modules == ("0", "1", "2")
    assert [each.rule for each in report.findings].count("STA301") == 1
    assert found["STA307"].stack == (), "what called us is not the model"
    assert "(and 2 more places)" in str(report)


class Counted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + len(json.dumps(x.tolist()))


def test_a_list_of_numbers_is_taken_at_one_place() -> None:
    report = onnxpert.diagnose(Counted().eval(), (torch.ones(5),))
    assert [each.count for each in report.findings if each.blocks] == [1]
    assert "more place" not in str(report)


class Either(nn.Module):
    def forward(self, x: Tensor, names: bool = False) -> Any:
        if not names:
            return torch.fft.rfft(x), "spectrum"  # seen
        return x, "values"


def test_of_several_lines_that_return_the_one_that_did_is_named() -> None:
    report = onnxpert.diagnose(Either().eval(), (torch.randn(4),))
    assert marked(report, "DTY901") == marked(report, "INP121") == ["seen"]


def test_it_is_named_while_a_profiler_runs_too() -> None:
    with cProfile.Profile():
        report = onnxpert.diagnose(Either().eval(), (torch.randn(4),))
    assert marked(report, "DTY901") == marked(report, "INP121") == ["seen"]
