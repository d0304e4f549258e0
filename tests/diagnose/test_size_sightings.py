"""What is said of lines that ask for a size, or that refuse another than the example's."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim

import onnxpert
from onnxpert.report import Report


def marked(report: Report, rule: str) -> list[str]:
    """The marks at the end of the lines of a rule's findings."""
    places = [f.location for f in report.findings if f.rule == rule and f.location]
    return [place.code.rpartition("# ")[2] for place in places]


class TwoTables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(6, 4))
        self.mask = torch.tril(torch.ones(6, 6))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.table  # table
        seen = (x @ x.T).masked_fill(self.mask == 0, 0.0)  # mask
        rows, _ = x.shape
        if rows > 4:  # branch
            seen = seen * 2
        return seen @ x


def test_each_line_that_fixes_a_size_is_named_and_so_are_those_that_ask_for_it() -> None:
    dynamic = {"x": {0: Dim.DYNAMIC}}
    report = onnxpert.diagnose(TwoTables().eval(), (torch.randn(6, 4),), dynamic_shapes=dynamic)
    assert marked(report, "SHP201") == ["table", "mask"]
    assert marked(report, "SHP214") == ["branch"]


def test_a_size_that_nobody_asked_to_vary_is_no_question() -> None:
    report = onnxpert.diagnose(TwoTables().eval(), (torch.randn(6, 4),), dynamic_shapes={})
    assert not report.findings


def kept(scores: Tensor) -> Tensor:
    order = [row for row in scores if row.sum() > 0]
    return torch.stack(order)


class Filters(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        best = kept(x)
        if len(best) > 8:  # long
            best = best[:8]
        return torch.from_numpy(best.numpy().copy())  # array


def test_the_length_of_a_list_that_values_decided_is_followed() -> None:
    report = onnxpert.diagnose(Filters().eval(), (torch.ones(3, 4),))
    assert marked(report, "CTL402") == ["array"]
    assert marked(report, "SHP214") == ["long"]


class Widest(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = [row[row > 0] for row in x]
        width = max(len(row) for row in rows)  # width
        return torch.stack([nn.functional.pad(row, (0, width - len(row))) for row in rows])  # pad


def test_a_length_that_the_data_decide_is_told_where_python_reads_it() -> None:
    report = onnxpert.diagnose(Widest().eval(), (torch.tensor([[1.0, -1, 2], [1, 2, 3]]),))
    assert marked(report, "SHP214") == ["width", "pad"]


class Uncounted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = x.unique(dim=0)
        if rows.shape[0] > 2:  # rows
            x = x + 1
        return torch.from_numpy(x.numpy().copy())


def test_a_question_that_is_told_as_a_branch_on_the_data_is_told_once() -> None:
    report = onnxpert.diagnose(Uncounted().eval(), (torch.eye(3),))
    assert [f.rule for f in report.findings if f.location and "# rows" in f.location.code] == [
        "CTL401"
    ]
