"""Writes and draws that decide about an answer are errors, whatever else is in the way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from onnxpert.report import Report


def errors(report: Report, rule: str) -> list[str]:
    """The marks at the end of the lines of a rule's errors."""
    found = [f for f in report.findings if f.rule == rule and f.severity is Severity.ERROR]
    return [f.location.code.rpartition("# ")[2] for f in found if f.location]


class Queue(nn.Module):
    """What is written comes from where no graph is, and where it goes is only read to write."""

    rows: Tensor
    place: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(8, 4))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        keys = torch.from_numpy(np.sort(x.numpy(), axis=-1).copy())
        similar = x @ self.rows.clone().T
        at = int(self.place)
        self.rows[at : at + len(keys)] = keys  # rows
        self.place[0] = (at + len(keys)) % 8  # place
        return similar + keys.sum()


class OpaqueQueue(Queue):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(torch.nested.to_padded_tensor(torch.nested.nested_tensor([*x]), 0.0))


class LazyQueue(Queue):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.LazyLinear(4)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(self.mix(x))


class PlainQueue(Queue):
    def forward(self, x: Tensor) -> Tensor:
        similar = x @ self.rows.clone().T
        self.rows[self.place] = x[:1]  # rows
        self.place += 1  # place
        return similar


def kept(report: Report) -> set[str]:
    return {*errors(report, "STA301"), *errors(report, "STA305")}


def test_a_buffer_that_is_filled_from_outside_the_graph_is_not_the_same_every_time() -> None:
    for kind in (Queue, OpaqueQueue, LazyQueue):
        report = onnxpert.diagnose(kind().eval(), (torch.rand(2, 4),))
        assert "rows" in kept(report), kind
        assert not [f for f in report.findings if "same every time" in f.message], kind


def test_a_place_to_write_to_decides_about_a_later_call() -> None:
    report = onnxpert.diagnose(PlainQueue().eval(), (torch.rand(2, 4),))
    assert errors(report, "STA301") == ["rows", "place"]


class Noisy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = F.dropout(x, 0.1)  # dropout
        x = x + torch.randn_like(x)  # first
        return x * torch.rand_like(x)  # second


def test_every_draw_is_an_error_behind_a_dropout_too() -> None:
    report = onnxpert.diagnose(Noisy().eval(), (torch.rand(2, 4),))
    assert errors(report, "STA311") == ["dropout"]
    assert errors(report, "NUM702") == ["first"]
    assert errors(report, "NUM704") == ["second"]


def test_a_further_draw_that_is_meant_is_no_error() -> None:
    model = nn.Sequential(Draws(), Draws()).eval()
    report = onnxpert.diagnose(model, (torch.rand(2, 4),), randomness="allow")
    assert report.ok
    assert errors(report, "NUM704") == []


class Draws(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x)


class WritesAWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.weight
        self.weight.data.mul_(0.5)  # weight
        return y + torch.linalg.eigvals(x).real


def test_a_weight_that_is_written_is_as_it_was_after_it() -> None:
    model = WritesAWeight().eval()
    report = onnxpert.diagnose(model, (torch.rand(3, 3),))
    assert errors(report, "STA301") == ["weight"]
    assert torch.equal(model.weight, torch.ones(3, 3))


TOTALS = {"calls": 0, "mean": 0.0}


class Totals(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        TOTALS["calls"] += 1  # calls
        TOTALS["mean"] = 0.9 * TOTALS["mean"] + x.mean()  # mean
        return x - TOTALS["mean"]


def test_of_a_dictionary_the_line_of_what_matters_is_named() -> None:
    report = onnxpert.diagnose(Totals().eval(), (torch.rand(3, 3),))
    assert errors(report, "STA305") == ["mean"]
    assert TOTALS == {"calls": 0, "mean": 0.0}


class Lookup(nn.Module):
    """A quantised table of a kind that torch cannot copy, beside something that is remembered."""

    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        scales, zeros = torch.full((4,), 0.02), torch.zeros(4)
        table = torch.quantize_per_channel(torch.rand(4, 3), scales, zeros, 0, torch.quint8)
        self.register_buffer("table", table)
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.last is None else x + self.last
        self.last = y  # last
        return y @ self.table.dequantize()


@pytest.mark.filterwarnings("ignore:torch.quantize")
def test_a_table_that_cannot_be_copied_hides_nothing() -> None:
    report = onnxpert.diagnose(Lookup().eval(), (torch.rand(2, 4),))
    assert errors(report, "STA305") == ["last"]


class Leaky(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.linalg.eigvals(x).real
        return y + F.rrelu(x, training=True)  # rrelu


def test_a_layer_that_is_never_out_of_training_is_told_once() -> None:
    report = onnxpert.diagnose(Leaky().eval(), (torch.rand(3, 3),))
    assert errors(report, "STA311") == ["rrelu"]
    assert not [f for f in report.findings if f.rule.startswith("NUM70")]


class Voices(nn.Module):
    known: dict[int, Tensor] = {}  # noqa: RUF012  it is the class's on purpose

    def forward(self, x: Tensor, voice: Tensor) -> Tensor:
        place = int(voice)
        if place not in Voices.known:
            Voices.known[place] = x.mean(0)  # known
        return x + Voices.known[place]


def test_what_is_kept_under_the_name_of_another_input() -> None:
    report = onnxpert.diagnose(Voices().eval(), (torch.rand(4, 3), torch.tensor(2)))
    assert errors(report, "STA305") == ["known"]


class Vocoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.window = torch.ones(4)  # which is no buffer
        self.up = torch.nn.utils.spectral_norm(nn.Conv1d(4, 4, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x) * self.window[:, None]


class Held:
    def __init__(self) -> None:
        self.scale = torch.ones(1)


class HoldsVocoder(Vocoder):
    def __init__(self) -> None:
        super().__init__()
        self.held = Held()

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * self.held.scale


@pytest.mark.parametrize("kind", [Vocoder, HoldsVocoder])
def test_a_weight_that_a_hook_makes_anew_is_no_warning(kind: type[nn.Module]) -> None:
    report = onnxpert.diagnose(kind().eval(), (torch.rand(2, 4, 6),))
    assert report.ok
    assert {f.severity for f in report.findings} <= {Severity.INFO}, str(report)
