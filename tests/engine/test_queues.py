"""Deques, with and without a limit, in loops over sizes that vary."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert
from tests.engine.models import Model


def last_three(x: Tensor) -> Any:
    queue: deque[Tensor] = deque(maxlen=3)
    for i in range(x.shape[0]):
        queue.append(x[i])
    while len(queue) < 3:
        queue.appendleft(torch.zeros(4))
    return torch.stack(list(queue))


def moving_mean(x: Tensor) -> Any:
    queue = deque([torch.zeros(4)] * 3, maxlen=3)
    means = []
    for row in x:
        queue.append(row)
        means.append(torch.stack(tuple(queue)).mean(0))
    return torch.stack(means), queue[0]


def at_both_ends(x: Tensor) -> Any:
    queue: deque[Tensor] = deque()
    for row in x:
        if row.sum() > 0:
            queue.append(row)
        else:
            queue.appendleft(row)
    return torch.stack(list(queue)), len(queue)


def worked_off(x: Tensor) -> Any:
    queue = deque(x.unbind(0), maxlen=5)
    total = torch.zeros(4)
    while queue:
        row = queue.popleft()
        total = total * 0.5 + row
        if row.sum() > 2:
            break
    return total


@pytest.mark.parametrize("function", [last_three, moving_mean, at_both_ends, worked_off])
def test_queues_are_as_long_as_they_get(function: Callable[[Tensor], Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    path = tmp_path / "m.onnx"
    sizes = {0: torch.export.Dim("rows", max=64)}
    onnxpert.export(Model(function), (torch.randn(6, 4),), path, dynamic_shapes=(sizes,))
    session = onnxruntime.InferenceSession(path)
    for x in (torch.randn(1, 4), torch.randn(2, 4), torch.randn(11, 4), -torch.rand(7, 4)):
        expected = function(x.clone())
        expected = expected if isinstance(expected, tuple) else (expected,)
        for want, got in zip(expected, session.run(None, {"x": x.numpy()}), strict=True):
            torch.testing.assert_close(torch.tensor(got), torch.as_tensor(want))
