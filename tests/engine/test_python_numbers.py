"""What Python does with truths and numbers that only a run of the file knows, and with lists of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


def truths(x: Tensor, t: Tensor) -> Any:
    a, b, c = bool(x.sum() > 0), t[0].item() > 1, t[1].item() > 0
    n = (a != b) + 2 * (b == 1) - (-c) + (b ^ c) * 4 + (b < c) / 2 + (a & b)
    return x * n + [10.0, 20.0][b] + {True: 3, False: 4}[c]


def bits(x: Tensor, t: Tensor) -> Any:
    k = int(t[0])
    return x * (~k + abs(k).bit_length()) + (k & (k > 1)) + round(k * 7, -1)


def after_a_branch(x: Tensor, t: Tensor) -> Any:
    is_positive = bool(x.sum() > 0)
    return x * (int(t[0]) + is_positive)


def counted(x: Tensor, t: Tensor) -> Any:
    votes = t.tolist()
    best, most = 0, -1
    for one in range(3):
        if votes.count(one) > most:
            best, most = one, votes.count(one)
    return x * best + most


def looked_for(x: Tensor, t: Tensor) -> Any:
    values = x.sum(1).tolist()
    return x[values.index(max(values))] + t.tolist().index(t.max().item())


def rows_in_a_list(x: Tensor, t: Tensor) -> Any:
    places = [i for i in range(x.shape[0]) if x[i].sum() > t[0]]
    if not places:
        return x.sum(0)
    if len(places) == 1:
        return x[places[0]]
    return x[places].mean(0)


def filtered(x: Tensor, t: Tensor) -> Any:
    rows = list(filter(lambda row: row.sum() > 0, x))
    both = torch.stack(list(map(torch.tanh, x)))
    some = sum(filter(lambda v: v > 0, t.tolist()))
    return both.sum(0) + some + (torch.stack(rows).sum(0) if rows else 0)


def values_of_a_list(x: Tensor, t: Tensor) -> Any:
    values = x[:, 0].tolist()
    middle = sorted(values)[len(values) // 2]
    return torch.tensor([sum(values) / len(values), max(values) - min(values), middle]) + t[0]


def compared(x: Tensor, t: Tensor) -> Any:
    total = x[0] * 0
    for row in x:
        if torch.equal(row, x[0]):
            total = total + row
        elif torch.allclose(row, total, atol=1.0):
            total = total - row
    return total + t[0]


def _largest(x: Tensor) -> Tensor:
    best = x[0]
    for row in x:
        if row.sum() > best.sum():
            best = row
    return best


def by_a_function_that_the_example_needs_not(x: Tensor, t: Tensor) -> Any:
    total = x[0] * 0
    for row in x:
        total = total - row if t[0] < 4 else total + _largest(x)
    return total


class Model(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.table = {0: 0.5, 1: 2.0, 2: -1.0}
        self.layer_0, self.layer_1 = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, t: Tensor) -> Any:
        return self.function(x, t)


class Named(Model):
    def forward(self, x: Tensor, t: Tensor) -> Any:
        layer = getattr(self, "layer_%d" % (int(t[0]) % 2))  # noqa: UP031
        return layer(x) * self.table.get(int(t[1]), 7.0) + (1.0, 2.0, 3.0)[-int(t[2])]


FUNCTIONS = [
    truths,
    bits,
    after_a_branch,
    counted,
    looked_for,
    rows_in_a_list,
    filtered,
    values_of_a_list,
    compared,
    by_a_function_that_the_example_needs_not,
]


@pytest.mark.parametrize("model", [*map(Model, FUNCTIONS), Named(truths)])
def test_as_python_has_it(model: Model, tmp_path: Path) -> None:
    torch.manual_seed(0)
    path = tmp_path / "m.onnx"
    shapes = ({0: torch.export.Dim("rows", max=64)}, None)
    args = (torch.randn(3, 4), torch.tensor([1, 2, 0]))
    onnxpert.export(model.eval(), args, path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path)
    for rows in (1, 2, 3, 6):
        for t in ([0, 0, 1], [1, 0, 2], [2, 2, 2], [-1, 1, 0], [5, -3, 1], [1, 2, 3]):
            x, numbers = torch.randn(rows, 4) + t[0] * 0.2, torch.tensor(t)
            (found,) = session.run(None, {"x": x.numpy(), "t": numbers.numpy()})
            wanted = model(x, numbers)
            torch.testing.assert_close(torch.from_numpy(found), wanted, rtol=1e-4, atol=1e-4)
