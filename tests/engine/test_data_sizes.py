"""Sizes that only the data know: dynamic in the file, and right for other data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn
from torch.nn import functional

import onnxpert

Tensor = torch.Tensor


def threshold(x: Tensor) -> Tensor:
    count = (x > 0.5).sum().item()
    return x.sort(descending=True)[0][:count]


def segments(places: Tensor, x: Tensor) -> Tensor:
    return torch.zeros(int(places.max()) + 1, 3).index_add(0, places, x)


def resized(x: Tensor, sizes: Tensor) -> Tensor:
    height, width = sizes.tolist()
    return functional.interpolate(x, size=(height, width), mode="nearest")


def ragged(lengths: Tensor) -> Any:
    ends = functional.pad(lengths.cumsum(0), (1, 0))
    return torch.arange(ends[-1].item()), torch.repeat_interleave(torch.arange(3), lengths)


def corner(table: Tensor, sizes: Tensor) -> Tensor:
    height, width = sizes.tolist()
    return table[:height, :width].reshape(height * width, -1) * 2


def masked_write(x: Tensor, mask: Tensor) -> Tensor:
    y = x.clone()
    y[mask] = torch.tanh(x[mask])
    return y


def whole(*numbers: int) -> Tensor:
    return torch.tensor(numbers)


def number(value: int) -> Tensor:
    return torch.tensor(value)


def real(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


CASES: list[tuple[Callable[..., Any], list[tuple[Tensor, ...]]]] = [
    (lambda x: x.nonzero(), [(real(3, 4),), (real(3, 4).abs(),), (torch.zeros(3, 4),)]),
    (lambda x: x[x > 0] * 2, [(real(3, 4),), (-real(3, 4).abs(),)]),
    (
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        [(whole(1, 2, 2, 5),), (whole(1, 1, 1, 1),), (whole(4, 3, 2, 1),)],
    ),
    (lambda x, n: x[: n.item()] * 2, [(real(6), number(3)), (real(6), number(0))]),
    (lambda n: torch.zeros(n.item(), 4) + 1, [(number(3),), (number(1),)]),
    (
        lambda n: torch.arange(n.max().item())[None, :] < n[:, None],
        [(whole(3, 5, 2),), (whole(1, 7, 2),)],
    ),
    (
        lambda x, n: torch.repeat_interleave(x, n, dim=0),
        [(real(4, 3), whole(1, 0, 3, 2)), (real(4, 3), whole(2, 2, 0, 0))],
    ),
    (
        lambda x, n: tuple(part.sum(0) for part in x.split(n.tolist())),
        [(real(9, 4), whole(2, 3, 4)), (real(9, 4), whole(4, 4, 1))],
    ),
    (threshold, [(real(10).abs(),), (real(10).abs() * 3,)]),
    (segments, [(whole(0, 2, 1, 2), real(4, 3)), (whole(0, 0, 0, 4), real(4, 3))]),
    (resized, [(real(2, 3, 8, 8), whole(4, 6)), (real(2, 3, 8, 8), whole(3, 5))]),
    (lambda x, k: x.topk(int(k), dim=1)[0], [(real(4, 6), number(2)), (real(4, 6), number(5))]),
    (ragged, [(whole(3, 1, 2),), (whole(5, 1, 1),)]),
    (lambda x, n: functional.pad(x, (0, n.item())), [(real(5), number(3)), (real(5), number(0))]),
    (lambda x, n: x.repeat(n.item(), 1), [(real(3, 4), number(2)), (real(3, 4), number(3))]),
    (
        lambda x, n: x.view(4, n.item(), -1).sum(-1),
        [(real(4, 8), number(4)), (real(4, 8), number(2))],
    ),
    (corner, [(real(5, 6, 3), whole(3, 4)), (real(5, 6, 3), whole(1, 6))]),
    (masked_write, [(real(3), whole(1, 0, 1).bool()), (real(3), whole(0, 0, 0).bool())]),
    (torch.bincount, [(whole(0, 1, 1, 2),), (whole(0, 0, 0, 3),)]),
]


def rows_in_parts(x: Tensor, mask: Tensor) -> Any:
    chosen = x[mask]
    return chosen.view(chosen.shape[0], 2, x.shape[1] // 2) + 1, chosen.unflatten(1, (2, -1)).mT


def test_nothing_is_left_beside_another_size(tmp_path: Path) -> None:
    model, path = Calls(rows_in_parts), tmp_path / "rows.onnx"
    sizes = ({0: "n", 1: "k"}, {0: "n"})
    onnxpert.export(model, (real(3, 4), whole(1, 0, 1).bool()), path, dynamic_shapes=(sizes,))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    for given in ((real(2, 6), whole(0, 0).bool()), (real(2, 8), whole(1, 1).bool())):
        got = session.run(None, dict(zip(names, [one.numpy() for one in given], strict=True)))
        for one, want in zip(got, model(*given), strict=True):
            np.testing.assert_allclose(one, want.numpy())


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Tensor) -> Any:
        return self.function(*given)


@pytest.mark.parametrize(("function", "data"), CASES)
def test_other_data(function: Callable[..., Any], data: list[Any], tmp_path: Path) -> None:
    model, path = Calls(function).eval(), tmp_path / "data.onnx"
    assert onnxpert.export(model, data[0], path).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    for given in data:
        want = model(*(value.clone() for value in given))
        feeds = {name: value.numpy() for name, value in zip(names, given, strict=True)}
        got = session.run(None, feeds)
        for a, b in zip(want if isinstance(want, tuple) else (want,), got, strict=True):
            assert tuple(a.shape) == b.shape
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


class AllButSome(nn.Module):
    """One row less two ends before its start, which is a place counted from its end."""

    def forward(self, x: Tensor, places: Tensor) -> Any:
        some = int(places[0]) % 3
        first, last = x * 2, x * 3
        first[: x.shape[0] - some] = -0.5
        last[x.shape[0] - some :] = 0.5
        return first, last


def test_an_end_that_is_negative_at_one_row_alone(tmp_path: Path) -> None:
    model, path = AllButSome(), tmp_path / "m.onnx"
    args = (real(5, 3), whole(1, 2))
    onnxpert.export(model, args, path, dynamic_shapes={"x": {0: "n"}, "places": None})
    session = onnxruntime.InferenceSession(path)
    for rows in (1, 2, 3, 5):
        for some in range(4):
            x, places = real(rows, 3), whole(some, 0)
            got = session.run(None, {"x": x.numpy(), "places": places.numpy()})
            for one, expected in zip(got, model(x, places), strict=True):
                np.testing.assert_array_equal(one, expected.numpy())


class Steps(nn.Module):
    """A step of as many rows as are not done, in each turn."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.gru = nn.RNNCell(3, 4), nn.GRUCell(4, 4)
        self.lstm = nn.LSTMCell(4, 4)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        state = torch.zeros(x.shape[0], 4)
        for step in range(int(lengths.max())):
            some = int((lengths > step).sum())
            new = self.gru(self.rnn(x[:some, step], state[:some]), state[:some])
            state = torch.cat([self.lstm(new, (state[:some], new))[0], state[some:]])
        return state


def test_cells_take_as_many_rows_as_the_data_say(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Steps().eval(), tmp_path / "m.onnx"
    sizes = {"x": {0: "b", 1: "t"}, "lengths": {0: "b"}}
    onnxpert.export(model, (real(3, 5, 3), whole(5, 4, 2)), path, dynamic_shapes=sizes)
    session = onnxruntime.InferenceSession(path)
    for x, lengths in ((real(1, 2, 3), whole(2)), (real(4, 6, 3), whole(6, 6, 1, 1))):
        (got,) = session.run(None, {"x": x.numpy(), "lengths": lengths.numpy()})
        np.testing.assert_allclose(got, model(x, lengths).detach().numpy(), rtol=1e-4, atol=1e-5)
