"""Errors that the data decide, and the model catches: both sides are in the file, or there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert
from tests.engine.models import Model

WEIGHTS = (0.5, -1.0, 0.25, 1.5)


def row(x: Tensor) -> Tensor:
    try:
        return x[int(x.sum())]
    except IndexError:
        return x[0] * 2


def column(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        y = x[:, k]
    except (LookupError, ValueError):
        y = x[:, 0] * 5
    return y


def quotient(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        return x * (6 // k)
    except ZeroDivisionError:
        return x + 100


def ratio(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        return x * (6 / k)
    except Exception:
        return x


def root(x: Tensor) -> Tensor:
    try:
        return x * math.sqrt(float(x.sum()))
    except ValueError:
        return x * 3


def out_of_a_tuple(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        x = x * WEIGHTS[k]
    except IndexError:
        x = x * 7
    return x


def out_of_a_table(x: Tensor) -> Tensor:
    k = int(x.sum())
    table = {0: 0.5, 1: 2.0, 2: -1.0}
    try:
        return x * table[k]
    except KeyError:
        return x


def raised_again(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        return x * WEIGHTS[k % 4] / (k + 50)
    except ZeroDivisionError as error:
        raise ValueError("a bad number") from error


def inputs() -> list[Tensor]:
    """With sums of about -9 to 9, and none."""
    torch.manual_seed(0)
    return [(torch.rand(4, 3) + total) / 12 for total in range(-9, 10)] + [torch.zeros(4, 3)]


@pytest.mark.parametrize("forward", [row, column, quotient, ratio, root, raised_again])
def test_both_sides_are_in_the_file(forward: Callable[[Tensor], Tensor], tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", Model(forward)
    onnxpert.export(model, (torch.ones(4, 3) / 8,), path)
    session = onnxruntime.InferenceSession(path)
    for x in inputs():
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x))


@pytest.mark.parametrize("forward", [out_of_a_tuple, out_of_a_table])
def test_there_is_no_file_without_one_of_them(
    forward: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(Model(forward), (torch.ones(4, 3) / 8,), tmp_path / "m.onnx")
    assert "CTL405" in {finding.rule for finding in caught.value.report.findings}
