"""What a line asks for and another line is the cause of: both are told, the error where the cause is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from onnxpert.report import Report


def marks(report: Report, rule: str) -> dict[str, Severity]:
    """The marks at the end of the lines of a rule's findings, and how bad each is."""
    found = [each for each in report.findings if each.rule == rule and each.location]
    return {
        each.location.code.rpartition("# ")[2]: each.severity for each in found if each.location
    }


class Spectrum(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        z = torch.fft.rfft(x, dim=1)
        y = torch.fft.irfft(z, n=12, dim=1) * 2  # number
        return x + y  # meeting


def test_a_size_is_fixed_where_its_number_is_written() -> None:
    report = onnxpert.diagnose(
        Spectrum().eval(), (torch.randn(2, 12),), dynamic_shapes=({0: "b", 1: "t"},)
    )
    assert marks(report, "SHP201") == {"number": Severity.ERROR, "meeting": Severity.INFO}


class Letters(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        path = [step for step in x.argmax(-1).tolist() if step != 0]  # taken
        text = "".join(chr(97 + step) for step in path)  # needed
        return x * 2, len(set(text))


def test_numbers_of_a_list_as_long_as_a_size_tell_where_they_are_needed() -> None:
    report = onnxpert.diagnose(Letters().eval(), (torch.eye(4, 5),), dynamic_shapes=({0: "t"},))
    assert marks(report, "CTL402") == {"taken": Severity.ERROR, "needed": Severity.INFO}


class Voxels(nn.Module):
    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        table: dict[int, list[Tensor]] = {}
        for cell, row in zip(x[:, 0].long().tolist(), x, strict=True):
            table.setdefault(cell, []).append(row)
        return (x * weight[:, None]).sum() + len(table)


def test_a_size_that_only_the_look_fixed_is_no_obstacle() -> None:
    sizes = ({0: "n"}, {0: "n"})
    args = (torch.arange(12.0).reshape(6, 2), torch.ones(6))
    report = onnxpert.diagnose(Voxels().eval(), args, dynamic_shapes=sizes)
    assert "SHP201" not in {each.rule for each in report.findings if each.blocks}


class Diffuses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.rand(5, 5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.table @ x  # table
        return torch.cat([x, y], -1)


def test_what_only_follows_from_a_table_is_not_told() -> None:
    sizes = ({1: "n"},)
    report = onnxpert.diagnose(Diffuses().eval(), (torch.rand(2, 5, 3),), dynamic_shapes=sizes)
    assert marks(report, "SHP201") == {"table": Severity.ERROR}


class Reads(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        text = "".join(str(int(each)) for each in x.long())  # text
        value = int(text)
        return torch.linalg.eigvals(x[:, None] * x).real, value


def test_a_text_of_values_is_read_on() -> None:
    report = onnxpert.diagnose(Reads().eval(), (torch.tensor([4.0, 7.0, 1.0]),))
    assert marks(report, "CTL405") == {"text": Severity.ERROR}
    assert not marks(report, "CAP001")
    assert marks(report, "OPS501")
