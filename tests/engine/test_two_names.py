"""One list or dictionary under two names, changed where only the data or a size say whether."""

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


def pushed_by_a_function(x: Tensor) -> Tensor:
    def push(items: list[Tensor], row: Tensor) -> None:
        if row.sum() > 0:
            items.append(row)
        else:
            items.append(row * 0)

    found: list[Tensor] = []
    for row in x:
        push(found, row)
    return torch.stack(found)


def one_list_twice(x: Tensor) -> Tensor:
    rows: list[list[Tensor]] = [[]] * 2
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            rows[0].append(x[i])
    return torch.stack(rows[1] + [x[0]])


def one_of_two(x: Tensor) -> Any:
    a, b = [x * 2], [x - 1]
    count = 0
    while x.abs().max() > 1:
        x = x * 0.7
        count += 1
    chosen = a if x.sum() > 0 else b
    table = {"k": x}
    other = table if x.mean() > 0 else {"k": -x}
    return chosen[0], a[0], b[0], other["k"], table["k"], count


def a_name_the_loop_does_not_say(x: Tensor) -> Any:
    rows: list[Tensor] = []
    same = rows
    kept = {"rows": rows}
    for i in range(x.shape[0]):
        if x[i].sum() > 0:
            rows.append(x[i])  # noqa: PERF401
    same.append(x[0])
    return torch.stack(kept["rows"]), len(same)


@pytest.mark.parametrize(
    "function",
    [pushed_by_a_function, one_list_twice, one_of_two, a_name_the_loop_does_not_say],
)
def test_a_change_shows_under_either_name(
    function: Callable[[Tensor], Any], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    path = tmp_path / "m.onnx"
    sizes = {0: torch.export.Dim("rows", max=64)}
    onnxpert.export(Model(function), (torch.randn(6, 4),), path, dynamic_shapes=(sizes,))
    session = onnxruntime.InferenceSession(path)
    for x in (torch.randn(1, 4), torch.randn(7, 4), -torch.rand(3, 4), torch.rand(5, 4) * 9):
        expected = function(x.clone())
        expected = expected if isinstance(expected, tuple) else (expected,)
        for want, got in zip(expected, session.run(None, {"x": x.numpy()}), strict=True):
            torch.testing.assert_close(torch.tensor(got), torch.as_tensor(want))
