"""A model that asks what time it is has its branches and loops in the file all the same."""

from __future__ import annotations

import time
import uuid

import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity


class Timed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        start, call = time.monotonic(), uuid.uuid4().hex
        while x.abs().max() > 1:
            x = x / 2
        side = "up" if x.sum() > 0 else "down"
        self.log(f"{side}: {call} took {time.monotonic() - start} s")
        return x * {"up": 1, "down": -1}[side]

    def log(self, text: str) -> None:
        self.text = text


def test_a_loop_that_is_timed_is_one_loop() -> None:
    report = onnxpert.diagnose(Timed().eval(), (torch.rand(3) + 9,))
    assert report.ok
    warned = {one.rule for one in report.findings if one.severity is Severity.WARNING}
    assert warned == {"STA302", "STA308", "NUM703"}


class Waits(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        ends = time.perf_counter() + 0.01
        while time.perf_counter() < ends:
            x = x * 1.0
        return x * 2 if x.sum() > 0 else x


def test_time_goes_on_in_a_run() -> None:
    report = onnxpert.diagnose(Waits().eval(), (torch.rand(3),))
    assert "STA308" in {one.rule for one in report.findings}
