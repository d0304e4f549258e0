"""What is written before it is read keeps nothing of the calls before, and the file may leave it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.core.types import Severity

Step = Callable[[Tensor, Tensor], Tensor]


class Keeps(nn.Module):
    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step
        self.register_buffer("cache", torch.zeros(8, 16))

    def forward(self, x: Tensor) -> Tensor:
        return self.step(self.cache, x)


def a_part(cache: Tensor, x: Tensor) -> Tensor:
    b, n = x.shape
    cache[:b, :n] = x
    return cache[:b, :n] * 2


def a_part_of_that(cache: Tensor, x: Tensor) -> Tensor:
    b, n = x.shape
    cache[:b, :n] = x
    cache[:b, :n].mul_(3)
    return cache[:b, :n].sum(1)


def cleared(cache: Tensor, x: Tensor) -> Tensor:
    cache.zero_()
    cache[: x.shape[0], : x.shape[1]] += x
    return cache @ cache.mT


def more_than_that(cache: Tensor, x: Tensor) -> Tensor:
    b, n = x.shape
    cache[:b, :n] = x
    return cache[:b] * 2


def read_before(cache: Tensor, x: Tensor) -> Tensor:
    b, n = x.shape
    y = cache[:b, :n] + x
    cache[:b, :n] = y
    return cache[:b, :n] * 2


def added(cache: Tensor, x: Tensor) -> Tensor:
    b, n = x.shape
    cache[:b, :n] += x
    return cache[:b, :n] * 2


def written_over_by_the_rest(cache: Tensor, x: Tensor) -> Tensor:
    b, n = x.shape
    cache[:b, :n] = x
    cache[:b, :n] += cache[-b:, -n:]
    return cache[:b, :n] * 2


@pytest.mark.parametrize("step", [a_part, a_part_of_that, cleared])
def test_nothing_is_left_of_it(step: Step, tmp_path: Path) -> None:
    model, path = Keeps(step).eval(), tmp_path / "m.onnx"
    x = torch.randn(2, 5)
    report = onnxpert.export(model, (x,), path, dynamic_shapes={"x": {0: "b", 1: "n"}})
    told = [found for found in report.findings if found.rule == "STA301"]
    assert told
    assert {found.severity for found in told} == {Severity.WARNING}
    session = ort.InferenceSession(path)
    for rows, columns in ((2, 5), (3, 2), (1, 16), (8, 1)):
        x = torch.randn(rows, columns)
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, model(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("step", [more_than_that, read_before, added, written_over_by_the_rest])
def test_something_is_left_of_it(step: Step) -> None:
    report = onnxpert.diagnose(Keeps(step).eval(), (torch.randn(2, 5),))
    assert {found.severity for found in report.findings if found.rule == "STA301"} == {
        Severity.ERROR
    }
