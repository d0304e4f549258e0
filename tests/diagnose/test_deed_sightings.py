"""What is said of chance, counters and messages that no graph shows."""

from __future__ import annotations

import datetime
import itertools
import logging
import os
import random
import subprocess
import sys
import uuid
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from onnxpert.report import Report
from tests.diagnose.test_far_causes import marks

LOG = logging.getLogger(__name__)


def marked(report: Report, rule: str) -> list[str]:
    """The marks at the end of the lines of a rule's findings."""
    places = [f.location for f in report.findings if f.rule == rule and f.location]
    return [place.code.rpartition("# ")[2] for place in places]


class OwnChance(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.python = random.Random(3)
        self.numpy = np.random.default_rng(0)

    def forward(self, x: Tensor) -> Tensor:
        x = x * self.python.uniform(1, 2)  # python
        return x + float(self.numpy.normal())  # numpy


def test_generators_of_the_models_own_are_chance() -> None:
    model = OwnChance().eval()
    generator = model.numpy
    report = onnxpert.diagnose(model, (torch.ones(3),))
    assert marked(report, "NUM703") == ["python", "numpy"]
    assert model.numpy is generator


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = itertools.count()

    def forward(self, x: Tensor) -> Tensor:
        return x + next(self.steps)  # step


def test_an_iterator_that_goes_on_is_state() -> None:
    report = onnxpert.diagnose(Counts().eval(), (torch.ones(3),))
    assert marked(report, "STA305") == ["step"]


class Logs(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        LOG.debug("not heard")
        LOG.error("largest: %s", x.shape)  # heard
        return x * 2


def test_a_message_to_a_log_is_told_where_it_is_heard() -> None:
    report = onnxpert.diagnose(Logs().eval(), (torch.ones(3),))
    assert marked(report, "STA306") == ["heard"]


class Decodes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lots = torch.Generator().manual_seed(0)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            if torch.rand((), generator=self.lots) > x.max():  # lot
                break
            x = torch.from_numpy(x.numpy() + 1)  # array
        return x


def test_a_draw_that_only_a_call_of_the_model_shows_is_told() -> None:
    report = onnxpert.diagnose(Decodes().eval(), (torch.ones(3),))
    assert marked(report, "NUM702") == ["lot"]
    assert marked(report, "CTL402") == ["array"]


class Drops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(x)


def test_a_dropout_in_training_is_not_told_twice() -> None:
    report = onnxpert.diagnose(Drops(), (torch.ones(3),))
    assert not marked(report, "NUM704")


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"cats": nn.Linear(3, 2), "dogs": nn.Linear(3, 4)})

    def forward(self, x: Tensor, task: str, mask: Tensor | None = None) -> Tensor:
        if mask is not None:
            x = x * mask
        return self.heads[task](x)  # choice


def test_a_word_that_chooses_is_told_where_it_does() -> None:
    report = onnxpert.diagnose(Heads().eval(), (torch.ones(1, 3), "dogs"))
    assert marked(report, "INP125") == ["choice"]
    assert all(f.severity is Severity.INFO for f in report.findings)


class Gain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        peak = x.abs().max()
        gain = 1.0 / peak.item() if peak > 0 else 1.0
        return x * gain


def test_a_number_that_a_branch_gives_is_in_the_file() -> None:
    report = onnxpert.diagnose(Gain().eval(), (torch.randn(2, 5),))
    assert report.ok


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 2, 3).to(torch.bfloat16)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x.to(torch.bfloat16)).float()  # half


def test_weights_in_half_precision_in_a_model_of_single_precision_are_told() -> None:
    report = onnxpert.diagnose(Halves().eval(), (torch.randn(1, 2, 8),))
    assert marked(report, "DTY904") == ["half"]


class Rounds(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        noise = 0.01 * torch.rand(3)  # noise
        return (x + noise).floor()


def test_chance_that_makes_no_difference_is_told_and_no_more() -> None:
    report = onnxpert.diagnose(Rounds().eval(), (torch.tensor([0.5, 1.5, 2.5]),))
    found = [(f.rule, f.severity) for f in report.findings]
    assert found == [("NUM702", Severity.INFO)]
    assert marked(report, "NUM702") == ["noise"]


class Cuts(nn.Module):
    def forward(self, x: Tensor, lengths: list[int]) -> Tensor:
        parts = [x[:n].sum(0) for n in lengths]  # cut
        return torch.stack(parts)


def test_a_list_of_numbers_is_told_once_and_where_it_is_used() -> None:
    report = onnxpert.diagnose(Cuts().eval(), (torch.ones(4, 3), [1, 3, 2]))
    (found,) = [f for f in report.findings if f.rule == "INP123"]
    assert found.message == "input lengths holds 3 numbers, and the file holds them as constants"
    assert marked(report, "INP125") == ["cut"]


class Attends(nn.Module):
    def forward(self, x: Tensor, inside: Tensor) -> Tensor:
        pair = inside[:, None] & inside[None, :]
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=pair)  # row


def test_a_masked_row_is_all_that_is_told_of_an_attention() -> None:
    inside = torch.tensor([True, True, False])
    report = onnxpert.diagnose(Attends().eval(), (torch.randn(1, 3, 4), inside))
    assert report.ok
    assert [f.rule for f in report.findings] == ["NUM709"]
    assert marked(report, "NUM709") == ["row"]


class KeepsChance(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.empty_like(x).normal_()  # chance
        if self.last is not None:
            x = x + self.last
        self.last = x  # kept
        return x


def test_chance_and_state_are_two_things_at_two_places() -> None:
    report = onnxpert.diagnose(KeepsChance().eval(), (torch.ones(3),))
    assert marked(report, "NUM702") == ["chance"]
    assert marked(report, "STA305") == ["kept"]


class Worldly(nn.Module):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def forward(self, x: Tensor) -> Tensor:
        sys.stderr.write(".")  # STA306
        warnings.warn("slow", stacklevel=2)  # STA306
        scale = float((self.folder / "scale.txt").read_text())  # STA310
        table = torch.from_numpy(np.load(self.folder / "table.npy"))  # STA310
        weight = torch.load(self.folder / "weight.pt")  # STA310
        if os.path.exists(self.folder / "nothing"):  # STA310
            x = x + 1
        answer = subprocess.run(["echo", "2"], capture_output=True, check=True)  # STA316
        name = uuid.uuid4().hex  # NUM703
        year = datetime.date.today().year  # STA308
        return x * weight * table * scale * float(answer.stdout) + 0 * year * len(name)


def test_what_a_forward_asks_of_the_world_is_told_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "scale.txt").write_text("3")
    np.save(tmp_path / "table.npy", np.ones(3, dtype=np.float32))
    torch.save(torch.arange(3.0), tmp_path / "weight.pt")
    report = onnxpert.diagnose(Worldly(tmp_path).eval(), (torch.ones(3),))
    assert report.ok
    for rule in ("STA306", "STA308", "STA310", "STA316", "NUM703"):
        with open(__file__, encoding="utf-8") as source:
            lines = source.read().partition("class Worldly")[2].splitlines()
        wanted = [line for line in lines if f"  # {rule}" in line]
        found = [each for each in report.findings if each.rule == rule]
        assert len(found) == len(wanted), rule
        assert all(each.location and f"# {rule}" in each.location.code for each in found)


class Caches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[int, Tensor] = {}
        self.mask: Tensor | None = None
        self.first: Tensor | None = None
        self.rows: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        if n not in self.tables:
            self.tables[n] = torch.arange(n) / 10  # table
        if self.mask is None or self.mask.shape[0] != n:
            self.mask = torch.ones(n).cumsum(0)  # mask
        if self.first is None:
            self.first = x.mean()  # data
        self.rows.append(torch.ones(2))  # grows
        return x + self.tables[n] + self.mask


def test_a_cache_of_what_sizes_decide_is_no_warning() -> None:
    report = onnxpert.diagnose(Caches().eval(), (torch.ones(4),), dynamic_shapes=({0: "n"},))
    assert report.ok
    quiet, loud = Severity.INFO, Severity.WARNING
    found = {"table": quiet, "mask": quiet, "data": loud, "grows": loud}
    assert marks(report, "STA302") == found
