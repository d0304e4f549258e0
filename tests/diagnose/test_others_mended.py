"""What is in the way by itself, and what only seems so beside another obstacle."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from tests.diagnose.test_far_causes import marks


class Distinct(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        _, s, _ = numpy.linalg.svd(x.numpy(), full_matrices=False)  # translated
        t = torch.from_numpy(numpy.unwrap(x.numpy()))  # unknown
        kinds = len(set(x.flatten().tolist()))  # kinds
        return t * kinds + torch.from_numpy(s).sum()


def test_numpy_that_torch_translates_is_no_obstacle_beside_another() -> None:
    report = onnxpert.diagnose(Distinct().eval(), (torch.rand(2, 3),))
    assert marks(report, "CTL402") == {"unknown": Severity.ERROR}
    assert marks(report, "CTL405") == {"kinds": Severity.ERROR}
    assert marks(report, "CTL408") == {"translated": Severity.INFO}


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        s = torch.from_numpy(numpy.linalg.svd(x.numpy())[1])  # array
        if x.sum() > 100:
            x = x / 2
        return x * s.sum()


def test_numpy_beside_a_branch_is_one_since_no_translation_has_branches() -> None:
    report = onnxpert.diagnose(Branching().eval(), (torch.rand(2, 3),))
    assert marks(report, "CTL402") == {"array": Severity.ERROR}


class Texts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        read = [float(word) for word in map(str, x.tolist())]  # text
        if x.sum() > 3:  # branch
            read = read[::-1]
        return x * torch.tensor(read)


def test_a_text_that_is_read_as_a_number_is_the_error_and_not_the_branch_behind_it() -> None:
    report = onnxpert.diagnose(Texts().eval(), (torch.rand(3),))
    assert marks(report, "CTL405") == {"text": Severity.ERROR}
    assert marks(report, "CTL401") == {"branch": Severity.INFO}


class Words(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, list[int]]:
        words = [x.argmax()]
        for _ in range(3):
            x = x.roll(1) * 0.9
            if x.argmax() == 2:  # branch
                break
            words.append(x.argmax())
        return x, torch.stack(words).tolist()  # returned


def test_results_of_which_the_data_decide_how_many_are_told_at_the_return() -> None:
    report = onnxpert.diagnose(Words().eval(), (torch.rand(4),))
    assert marks(report, "CTL401") == {"returned": Severity.ERROR, "branch": Severity.INFO}


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        if x.mean() > 0:  # branch
            x = x * 2
        return self.conv(x)  # refused


class Head(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        kinds = len(set(x.flatten().tolist()))  # kinds
        return torch.linalg.eigvals(x @ x.mT).real * kinds  # spectrum


def test_behind_a_line_that_refuses_the_example_one_that_it_takes_is_looked_at() -> None:
    model = nn.Sequential(Encoder(), Head()).eval()
    for shape in ((1, 5, 6, 6), (1, 6, 6, 3)):  # another number of channels, channels last
        report = onnxpert.diagnose(model, (torch.rand(shape),))
        assert marks(report, "INP119") == {"refused": Severity.ERROR}
        assert marks(report, "CTL405") == {"kinds": Severity.ERROR}
        assert marks(report, "OPS501") == {"spectrum": Severity.ERROR}
        assert marks(report, "CTL401") == {"branch": Severity.INFO}


class Uneven(nn.Module):
    def forward(self, x: Tensor) -> Any:
        if x.mean() > 0:  # uneven
            return x, x + 1
        return x


def test_a_branch_that_no_file_can_have_is_an_error_behind_such_a_line_too() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), Uneven()).eval()
    report = onnxpert.diagnose(model, (torch.rand(1, 5, 6, 6),))
    assert marks(report, "CTL401") == {"uneven": Severity.ERROR}


class Looks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, ids: Tensor) -> Tensor:
        found = self.table(ids)  # refused
        return torch.linalg.eigvals(found @ found.mT).real  # spectrum


def test_an_example_of_another_kind_is_looked_behind_too() -> None:
    for ids in (torch.tensor([[1, 7]]), torch.tensor([[1.0, 2.0]])):
        report = onnxpert.diagnose(Looks().eval(), (ids,))
        assert not report.ok
        assert marks(report, "OPS501") == {"spectrum": Severity.ERROR}


class Modes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        name = "wide" if x.std() > 5 else "narrow"  # branch
        scale = {"wide": 0.5, "narrow": 1.0}[name]
        kinds = {round(value, 1) for value in x.tolist()}  # kinds
        return x * scale * len(kinds)


def test_a_branch_that_paths_can_follow_is_no_error_before_an_obstacle() -> None:
    report = onnxpert.diagnose(Modes().eval(), (torch.rand(3),))
    assert marks(report, "CTL401") == {"branch": Severity.INFO}
    assert marks(report, "CTL405") == {"kinds": Severity.ERROR}


class Rounds(nn.Module):
    def forward(self, x: Tensor, n: Tensor) -> tuple[Tensor, ...]:
        rows = x[x[:, 0] > 0.3]
        made = [x.sum()]
        for row, peak in zip(rows, rows.argmax(-1), strict=True):  # items
            made.append(row.mean() + peak)
        y = x.sum()
        for place in range(len(rows)):  # places
            y = y * 0.5 + rows[place].sum()
        y = y + sum([x * k for k in range(int(n) + 1)])  # comprehension
        order = sorted(x[0].tolist())  # order
        kinds = {round(value, 1) for value in x[0].tolist()}  # kinds
        return torch.stack(made), y + order[0], x * len(kinds)


def test_loops_as_long_as_the_data_say_and_orders_are_no_errors_beside_an_obstacle() -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(Rounds().eval(), (torch.rand(6, 4), torch.tensor(3)))
    rounds = dict.fromkeys(("items", "places", "comprehension"), Severity.INFO)
    assert marks(report, "CTL403") == rounds
    assert marks(report, "CTL401") == {"order": Severity.INFO}
    errors = [
        one.location.code
        for one in report.findings
        if one.severity is Severity.ERROR
        if one.location
    ]
    assert [code.rpartition("# ")[2] for code in errors] == ["kinds"]
