"""One tensor under two names on one side of a branch, or after a loop, and written under one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert
from tests.engine.models import Model


def written_by_a_while(x: Tensor) -> Any:
    a, b = x * 1, x + 1
    if x.sum() > 3:
        b = a
    i = 0
    while a.abs().sum() > 1 and i < 5:
        a *= 0.5
        i += 1
    return a, b


def written_as_the_third(x: Tensor) -> Any:
    a, b = x * 1, x + 1
    c = a if x.sum() > 3 else b
    i = 0
    while c.abs().sum() > 1 and i < 5:
        c *= 0.5
        i += 1
    return a, b


def written_on_a_side(x: Tensor) -> Any:
    a, b = x * 1, x + 1
    if x.sum() > 3:
        b = a
    if x.mean() > 0.5:
        a += 1
    return a, b


def written_so_many_times(x: Tensor) -> Any:
    a, b = x * 1, x + 1
    b = a if x.sum() > 3 else b
    for _ in range(int(x.max().item() * 2)):
        a *= 0.5
    return a, b


def named_by_a_loop(x: Tensor) -> Any:
    a, b = x * 1, x + 1
    for _ in range(int(x.max().item() * 2)):
        b = a
    a *= 0.5
    return a, b


def in_a_list(x: Tensor) -> Any:
    a, b = x * 1, x + 1
    held = [a]
    if x.sum() > 3:
        held = [b]
    for _ in range(int(x.max().item() * 2)):
        a *= 0.5
    return held[0], b


def exported(forward: Callable[..., Any], path: Path) -> None:
    torch.manual_seed(0)
    onnxpert.export(Model(forward), (torch.randn(4, 3) * 0.3,), path)
    session = onnxruntime.InferenceSession(path)
    for mean in (-1.0, 0.0, 0.4, 1.0, 3.0):
        x = torch.randn(4, 3) * 0.3 + mean
        got = session.run(None, {"x": x.numpy()})
        for have, want in zip(got, forward(x.clone()), strict=True):
            torch.testing.assert_close(torch.tensor(have), want)


@pytest.mark.parametrize("forward", [written_by_a_while, written_as_the_third, written_on_a_side])
def test_both_names_see_the_write(forward: Callable[..., Any], tmp_path: Path) -> None:
    exported(forward, tmp_path / "m.onnx")


@pytest.mark.parametrize("forward", [written_so_many_times, named_by_a_loop, in_a_list])
def test_what_cannot_be_said_is_refused(forward: Callable[..., Any], tmp_path: Path) -> None:
    """Before a proof has to find out that it is wrong, which depends on the values it tries."""
    with pytest.raises(onnxpert.ExportError) as caught:
        exported(forward, tmp_path / "m.onnx")
    assert "NUM701" not in {finding.rule for finding in caught.value.report.findings}
