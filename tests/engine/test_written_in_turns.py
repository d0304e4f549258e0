"""A tensor that some turns of a loop write in place, and others replace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor

import onnxpert


class Model(torch.nn.Module):
    def __init__(self, forward: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.run = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.run(x)


def written_and_replaced(x: Tensor) -> Tensor:
    b = x * 0.9
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            b.mul_(0.5)
        b = b + 1
    return b


def written_or_replaced(x: Tensor) -> Tensor:
    b = x * 0.9
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            b[0] = x[i]
        elif x[i, 1] > 0:
            b = b - 1
    return b


def written_then_on(x: Tensor) -> Tensor:
    a = x * 0.9
    for i in range(x.shape[0]):
        if a[i, 0] > 0:
            a += 0.25
            continue
        a = a - a.mean(0)
    return a


def on_one_side(x: Tensor) -> Tensor:
    a = x * 0.9
    if x.sum() > 0:
        for i in range(x.shape[0]):
            if x[i, 0] > 0:
                a.mul_(0.5)
            a = a - 1
    else:
        a = a * 2
    return a


@pytest.mark.parametrize(
    "forward", [written_and_replaced, written_or_replaced, written_then_on, on_one_side]
)
def test_a_turn_writes_what_the_turn_before_left(
    forward: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    model = Model(forward).eval()
    torch.manual_seed(0)
    path = tmp_path / "model.onnx"
    onnxpert.export(model, (torch.randn(4, 3),), path, dynamic_shapes={"x": {0: "n"}})
    session = ort.InferenceSession(path)
    for rows in (1, 2, 3, 5, 7):
        for _ in range(4):
            x = torch.randn(rows, 3)
            (found,) = session.run(None, {"x": x.numpy()})
            np.testing.assert_allclose(found, model(x.clone()).numpy(), rtol=1e-4, atol=1e-5)


def known_by_another_name(x: Tensor) -> Tensor:
    b = x * 0.9
    c = b
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            b.mul_(0.5)
        b = b + 1
    return b + c


def seen_through_a_view(x: Tensor) -> Tensor:
    b = x * 0.9
    first = b[0]
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            b.mul_(0.5)
        b = b + 1
    return b + first


def held_by_a_list(x: Tensor) -> Tensor:
    rows = []
    v = x.mean(0)
    for i in range(x.shape[0]):
        rows.append(v)
        if x[i, 0] > 0:
            v += x[i]
        else:
            v = v * 0.5
    return torch.stack(rows)


def two_of_the_loop(x: Tensor) -> Tensor:
    a, b = x * 0.9, x * 0.5
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            a.mul_(0.5)
        b = b + a
        a = b
    return a + b


def read_again_by_the_outer_loop(x: Tensor) -> Tensor:
    table, total = x * 0.5, x.sum()
    for _ in range(x.shape[0]):
        total = total + table.mean()
        b = table
        for j in range(x.shape[0]):
            if x[j, 0] > 0:
                b.mul_(0.5)
            b = b + 1
        total = total + b.mean()
    return total


def the_input_itself(x: Tensor) -> Tensor:
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            x.mul_(0.5)
        x = x + 1
    return x


@pytest.mark.parametrize(
    "forward",
    [
        known_by_another_name,
        seen_through_a_view,
        held_by_a_list,
        two_of_the_loop,
        read_again_by_the_outer_loop,
        the_input_itself,
    ],
)
def test_what_a_write_would_show_elsewhere_is_never_lost(
    forward: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    """It is refused before a proof has to find it out, which may not come that way."""
    torch.manual_seed(0)
    path = tmp_path / "model.onnx"
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(
            Model(forward).eval(), (torch.randn(4, 3),), path, dynamic_shapes={"x": {0: "n"}}
        )
    blocking = {finding.rule for finding in caught.value.report.findings if finding.blocks}
    assert blocking == {"SHP201"}
    assert not path.exists()
