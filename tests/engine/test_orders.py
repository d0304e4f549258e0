"""`sorted`, `max` and `min` by a key, and steps of a range, that the data decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert
from tests.engine.models import Model


def rows_by_number(x: Tensor) -> Tensor:
    order = sorted(range(x.shape[0]), key=lambda i: float(x[i, 0]))
    return torch.stack([x[i] for i in order])


def pairs(x: Tensor) -> Tensor:
    ranked = sorted(enumerate(x), key=lambda pair: pair[1].sum(), reverse=True)
    return torch.stack([row * place for place, row in ranked])


def values(x: Tensor) -> Tensor:
    return torch.tensor(sorted(x[:, 0].tolist())) * 2


def columns(x: Tensor) -> Tensor:
    first, second, _ = sorted([0, 1, 2], key=lambda j: (x[:, j].sum() > 0, -x[:, j].sum()))
    return x[:, first] - x[:, second]


def largest(x: Tensor) -> Tensor:
    return x[max(range(x.shape[0]), key=lambda i: x[i].sum())] * 2


def smallest(x: Tensor) -> Tensor:
    return min(x, key=lambda row: row.abs().sum()) + 1


def steps(x: Tensor) -> Tensor:
    step, total = int(x[:, 0].sum()), torch.zeros(3)
    if step == 0:
        step = 2
    for i in range(0, x.shape[0], step):
        total = total + x[i] * i
    for i in range(x.shape[0] - 1, -1, -abs(step)):
        total = total * 0.5 + x[i]
    return total


@pytest.mark.parametrize("run", [rows_by_number, pairs, values, columns, largest, smallest, steps])
def test_as_python_has_it(run: Callable[[Tensor], Tensor], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Model(run), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(6, 3),), path, dynamic_shapes={"x": {0: "rows"}})
    session = onnxruntime.InferenceSession(path)
    for rows in (6, 1, 2, 9):
        for _ in range(4):
            x = torch.randn(rows, 3) * 2
            (got,) = session.run(None, {"x": x.numpy()})
            torch.testing.assert_close(torch.tensor(got), model(x))


def test_what_is_equal_keeps_its_order(tmp_path: Path) -> None:
    """Backwards too."""

    def by_whole(x: Tensor) -> Tensor:
        ranked = sorted(enumerate(x), key=lambda pair: pair[1][0].round(), reverse=True)
        return torch.stack([row + place for place, row in ranked])

    model, path = Model(by_whole), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(6, 3),), path)
    x = torch.tensor([1.0, 2, 1, 2, 0, 1])[:, None] + torch.rand(6, 3) / 4
    (got,) = onnxruntime.InferenceSession(path).run(None, {"x": x.numpy()})
    torch.testing.assert_close(torch.tensor(got), model(x))


def test_a_nan_has_no_place_in_an_order() -> None:
    """Python's is one of chance then, so that nothing is compared at one."""

    def without_gaps(x: Tensor) -> Tensor:
        first = sorted(range(len(x)), key=lambda i: -x[i, 0].item())[0]
        return x[first] * 2 if x.isnan().any() else x[first]

    torch.manual_seed(0)
    report = onnxpert.diagnose(Model(without_gaps), (torch.rand(5, 2),))
    assert {one.rule for one in report.findings if one.severity != "info"} <= {"CTL409"}
    assert report.ok
