"""Messages that are written with `%`: nothing in a graph waits for them, and no size is fixed by one."""

from __future__ import annotations

import logging
import math

import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from tests.diagnose.test_far_causes import marks

LOG = logging.getLogger(__name__)


class Speaks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        LOG.error("%d rows, mean %.3f, largest %5.1f", x.shape[0], x.mean().item(), x.max())
        text = "sum %d of %d" % (x.sum(), len(x))  # noqa: UP031  `%` is what this is about
        LOG.error(text)
        return x * 2 % 3


def test_messages_keep_sizes_open_and_models_exportable() -> None:
    report = onnxpert.diagnose(Speaks().eval(), (torch.rand(3, 2),), dynamic_shapes=({0: "n"},))
    assert report.ok
    assert {one.severity for one in report.findings} <= {Severity.INFO}
    assert report.inputs == ("x: float32[n, 2]",)


class Computes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        LOG.error("mean %.3f", x.mean().item())
        coarse = torch.log(x + 1) * float("%.1f" % x.mean().item())  # noqa: UP031  # text
        return x * coarse


def test_what_is_computed_with_a_text_is_no_message() -> None:
    report = onnxpert.diagnose(Computes().eval(), (torch.rand(3),))
    assert marks(report, "CTL405") == {"text": Severity.ERROR}


class Decides(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        kind = "%d" % int(x[0])  # noqa: UP031  # text
        return x * (5 if kind == "0" else 2)


def test_what_is_compared_is_told_as_a_text() -> None:
    report = onnxpert.diagnose(Decides().eval(), (torch.rand(3) + 1.2,))
    assert marks(report, "CTL413") == {"text": Severity.WARNING}


class Keeps(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows, names = {}, [""]
        names[0] = f"{x.min().item():.1f}"  # name
        for _ in range(3):
            x = x * 0.5
            rows[f"{x.mean().item():.1f}"] = x  # key
        return rows[sorted(rows)[-1]] / (1 + hash(str(int(x.max()))) % 7)  # hash


def test_a_text_that_decides_something_is_a_warning_beside_an_error_of_another_kind() -> None:
    report = onnxpert.diagnose(Keeps().eval(), (torch.rand(3),))
    told = marks(report, "CTL413")
    assert told == {"name": Severity.INFO, "key": Severity.WARNING, "hash": Severity.WARNING}


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if math.isnan(x.sum().item()):  # check
            raise ValueError("no number: %f" % x.sum().item())  # noqa: UP031
        kinds = {round(value, 1) for value in x.tolist()}  # kinds
        return x * len(kinds)


def test_a_run_that_is_made_again_fails_at_its_own_line() -> None:
    report = onnxpert.diagnose(Raises().eval(), (torch.rand(3),))
    assert marks(report, "CTL405") == {"kinds": Severity.ERROR}
    assert not marks(report, "CTL401")
    assert marks(report, "CTL407") == {"check": Severity.INFO}


class Limits(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 50:
            raise ValueError(f"at most 50 rows, not {x.shape[0]}")
        return x * 2


def test_what_a_check_raises_is_told_as_the_source_has_it() -> None:
    report = onnxpert.diagnose(Limits().eval(), (torch.rand(3),), dynamic_shapes=({0: "n"},))
    (found,) = [one for one in report.findings if one.rule == "CTL407"]
    assert found.message.endswith("ValueError: at most 50 rows, not {x.shape[0]}")
