"""A device that is not there hides nothing of what lies behind it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from onnxpert import diagnose
from onnxpert.capture import capture
from onnxpert.core.types import Asked, CaptureFailed, Request
from onnxpert.load import load

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="the device is there")
HERE = torch.device("cuda:0")


class Moves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last: Any = None

    def forward(self, x: Tensor) -> Tensor:
        x = x.cuda()  # device
        x = x + torch.ones(3, device="cuda")  # device
        torch.cuda.synchronize()  # device
        x = x.to(HERE) * 2  # device
        self.last = x  # state
        return x * len(x.cpu().numpy())  # array


def test_every_line_that_names_the_device_is_told_and_what_comes_after() -> None:
    found = capture(load(Request(Moves().eval(), (torch.randn(3),))))
    assert isinstance(found, CaptureFailed)
    assert found.eager is not None
    devices = [
        one.location.code for one in found.blockers if one.asked is Asked.DEVICE and one.location
    ]
    assert len(devices) == 4
    assert all(code.endswith("# device") for code in devices)
    (array,) = (one for one in found.blockers if one.asked is Asked.NUMPY)
    assert array.location is not None
    assert array.location.code.endswith("# array")


def test_the_report_has_them_all() -> None:
    report = diagnose(Moves().eval(), (torch.randn(3),))
    rules = [finding.rule for finding in report.findings]
    assert rules.count("CAP004") == 4
    assert {"CTL402", "STA302"} <= set(rules)


class Follows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.cuda()
        return torch.where(y.sum() > 0, y, y.relu() + torch.rand(3))


def test_a_model_that_could_be_followed_is_told_the_device_and_what_the_graph_says() -> None:
    report = diagnose(Follows().eval(), (torch.randn(3),))
    assert {finding.rule for finding in report.findings} == {"CAP004", "NUM702"}


def test_torch_knows_the_devices_afterwards() -> None:
    torch.get_device_module.cache_clear()
    diagnose(Moves().eval(), (torch.randn(3),))
    assert torch.get_device_module("cuda") is torch.cuda
    with torch.random.fork_rng():
        assert diagnose(nn.Linear(3, 3).eval(), (torch.randn(3),)).ok
