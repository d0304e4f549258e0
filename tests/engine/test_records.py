"""Objects of dataclasses that a loop or a branch hands on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert
from tests.engine.models import Model


@dataclasses.dataclass(frozen=True)
class State:
    hidden: Tensor
    best: Tensor
    step: int = 0

    def advanced(self, row: Tensor) -> State:
        hidden = torch.tanh(self.hidden + row)
        best = torch.maximum(self.best, hidden)
        return dataclasses.replace(self, hidden=hidden, best=best, step=self.step + 1)


@dataclasses.dataclass
class Memory:
    total: Tensor
    rows: list[Tensor] = dataclasses.field(default_factory=list)
    count: int = 0

    def take(self, row: Tensor) -> None:
        self.total = self.total * 0.5 + row
        self.rows.append(row * 2)
        self.count += 1


def replaced(x: Tensor) -> Any:
    state = State(torch.zeros(4), torch.full((4,), -1.0))
    for row in x:
        state = state.advanced(row)
        if state.best.min() > 0.8:
            break
    return state.hidden, state.best, torch.tensor(state.step)


def changed(x: Tensor) -> Any:
    memory = Memory(torch.zeros(4))
    for row in x:
        if row.sum() > 0:
            memory.take(row)
        memory.total = memory.total + 0.25
    if not memory.rows:
        return memory.total, x[:1] * 0, torch.tensor(0)
    return memory.total, torch.stack(memory.rows), torch.tensor(memory.count)


def chosen(x: Tensor) -> Any:
    one, other = State(x[0], x.amax(0)), State(x[-1] * 2, x.amin(0), 3)
    state = one if x.sum() > 0 else other
    while state.hidden.abs().max() > 0.5:
        state = dataclasses.replace(state, hidden=state.hidden * 0.5, step=state.step + 1)
    return state.hidden, state.best, torch.tensor(state.step)


@pytest.mark.parametrize("function", [replaced, changed, chosen])
def test_their_fields_are_handed_on(function: Callable[[Tensor], Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Model(function), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(4, 4),), path, dynamic_shapes=({0: "rows"},))
    session = onnxruntime.InferenceSession(path)
    for rows, moved in ((1, 0.0), (2, -9.0), (3, 9.0), (5, 0.0), (13, 0.2)):
        x = torch.randn(rows, 4) + moved
        found = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        for got, want in zip(found, model(x), strict=True):
            torch.testing.assert_close(torch.tensor(got), want)
