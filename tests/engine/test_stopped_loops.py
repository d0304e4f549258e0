"""`while` on data with counters and lists of Python's, loops over what the data found, last blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from tests.engine.models import Model


def assert_same(model: nn.Module, path: Path, inputs: Sequence[tuple[Tensor]]) -> None:
    session = onnxruntime.InferenceSession(path)
    names = [given.name for given in session.get_inputs()]
    for args in inputs:
        expected = model(*args)
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = session.run(None, {n: a.numpy() for n, a in zip(names, args, strict=True)})
        for want, got in zip(expected, found, strict=True):
            torch.testing.assert_close(torch.tensor(got), torch.as_tensor(want))


# ---- counters and lists --------------------------------------------------------------------


def halvings(x: Tensor) -> Any:
    n = 0
    while x.max() > 1:
        x = x / 2 + 0.01 * n
        n += 1
    return x, n, x * n


def history(x: Tensor) -> Any:
    seen = [x.sum()]
    while x.abs().sum() > 1:
        x = x * 0.5
        seen.append(x.sum())
    return torch.stack(seen), len(seen)


def growing(x: Tensor) -> Any:
    rows = [x]
    while not rows[-1][-1] < 1:
        rows.append(rows[-1] * 0.5)
        x = torch.cat([x, rows[-1]])
    return torch.cat(rows), x


def until(x: Tensor) -> Any:
    i = 0
    while True:
        x = x * 0.7
        i += 1
        if x.abs().max() < 1:
            break
        x = x - 0.01 * i
    return x, i


@pytest.mark.parametrize("forward", [halvings, history, growing, until])
def test_a_while_may_count_and_collect(forward: Any, tmp_path: Path) -> None:
    model = Model(forward)
    report = onnxpert.export(
        model, (torch.tensor([8.0, 3.0]),), tmp_path / "m.onnx", dynamic_shapes=({0: "n"},)
    )
    assert report.ok
    turns = [[100.0, 1.0, 70.0], [0.1, 0.2], [1.5], [2.0, 2.0, 2.0, 4000.0]]
    assert_same(model, tmp_path / "m.onnx", [(torch.tensor(values),) for values in turns])


def bounded(x: Tensor) -> Any:
    n = 0
    while x.max() > 1 and n < 300:
        x = x - 0.001
        n += 1
    return x


def bounded_by_a_list(x: Tensor) -> Any:
    seen: list[Tensor] = []
    while x.max() > 1:
        x = x - 0.001
        seen.append(x)
        if len(seen) > 300:
            break
    return torch.stack(seen)


def unlike_later(x: Tensor) -> Any:
    n = 0
    while x.max() > 1:
        x = x - (0.001 if n < 50 else 0.1)
        n += 1
    return x


@pytest.mark.parametrize("forward", [bounded, bounded_by_a_list, unlike_later])
def test_a_turn_far_out_that_is_another_is_not_passed_over(forward: Any, tmp_path: Path) -> None:
    model = Model(forward)
    onnxpert.export(model, (torch.tensor([1.01]),), tmp_path / "m.onnx")
    values = (1.001, 1.01, 1.04, 1.06, 1.29, 1.5, 2.0)
    assert_same(model, tmp_path / "m.onnx", [(torch.tensor([value]),) for value in values])


# ---- what the data found -------------------------------------------------------------------


def over_indices(x: Tensor) -> Tensor:
    total = torch.zeros(())
    for i in x.nonzero().flatten():
        total = total * 0.5 + x[i] * i
    return total


def over_experts(x: Tensor) -> Tensor:
    chosen = x.abs().argmax(-1)
    out = torch.zeros_like(x)
    hit = (nn.functional.one_hot(chosen, 3).sum(0) > 0).nonzero()
    for expert in hit:
        (rows,) = torch.where(chosen == expert[0])
        out.index_add_(0, rows, torch.tanh(x[rows] * (expert[0] + 1)))
    return out


def over_labels(x: Tensor) -> Tensor:
    labels = (x * 2).round()
    return torch.stack([x[labels == c].mean(0) for c in torch.unique(labels)])


def written_by_index(x: Tensor) -> Tensor:
    i = x.flatten().argmax() % x.shape[0]
    y = x.clone()
    y[i] = 0
    y[i - 1, ..., 0] = 5
    return y


FOUND: list[Any] = [
    (over_indices, [[1.0, 0, 2, 0], [0.0, 0], [3.0], [1.0, 2, 3, 4, 5, 6, 7]]),
    (over_experts, [[[1.0, 2, 3], [3, 1, 2]], [[1.0, 0, 0]], [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]]),
    (over_labels, [[1.0, 2, 1.1, 3], [0.5, 0.5], [1.0, 2, 3, 4, 5, 6, 7]]),
    (written_by_index, [[[1.0, 2], [4, 3]], [[1.0, 0]], [[1.0, 2], [4, 5], [0, 1]]]),
]


@pytest.mark.parametrize(
    ("forward", "values"), FOUND, ids=lambda each: getattr(each, "__name__", "")
)
def test_what_the_data_find_is_gone_through(forward: Any, values: Any, tmp_path: Path) -> None:
    inputs = [(torch.tensor(each),) for each in values]
    model = Model(forward)
    report = onnxpert.export(model, inputs[0], tmp_path / "m.onnx", dynamic_shapes=({0: "n"},))
    assert report.ok
    assert_same(model, tmp_path / "m.onnx", inputs)


# ---- last blocks ---------------------------------------------------------------------------


def blocks_apart(x: Tensor) -> Tensor:
    parts = [x[i : i + 4] for i in range(0, x.shape[0], 4)]
    return torch.cat([part - part.mean(0) for part in parts])


def blocks_in_a_row(x: Tensor) -> Any:
    h = torch.zeros(3)
    y = torch.empty_like(x)
    for start in range(0, x.shape[0], 16):
        end = min(start + 16, x.shape[0])
        h = torch.tanh(h + x[start:end].sum(0))
        y[start:end] = x[start:end].flip(0) * h
    return y, h


def parts_of_a_split(x: Tensor) -> Any:
    parts = torch.split(x, 4)
    return torch.cat([part.softmax(0) for part in parts]), torch.stack([p.sum() for p in parts])


BLOCKS: list[Any] = [(blocks_apart, 3), (blocks_apart, 40), (blocks_in_a_row, 40)]


@pytest.mark.parametrize(("forward", "length"), [*BLOCKS, (parts_of_a_split, 10)])
def test_a_last_block_may_be_shorter(forward: Any, length: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model(forward)
    example = (torch.randn(length, 3),)
    report = onnxpert.export(model, example, tmp_path / "m.onnx", dynamic_shapes=({0: "n"},))
    assert report.ok
    sizes = (1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32, 33, 97)
    assert_same(model, tmp_path / "m.onnx", [(torch.randn(size, 3),) for size in sizes])


def masked_in_a_turn(x: Tensor) -> Tensor:
    h = torch.zeros(3)
    for t in range(x.shape[0]):
        h = h + x[t]
        h[h > 1] = 0
    return h


def test_a_turn_may_write_through_a_mask(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model(masked_in_a_turn)
    example = (torch.randn(5, 3),)
    assert onnxpert.export(model, example, tmp_path / "m.onnx", dynamic_shapes=({0: "n"},)).ok
    assert_same(model, tmp_path / "m.onnx", [(torch.randn(size, 3),) for size in (1, 2, 11)])


# ---- what is asked besides -----------------------------------------------------------------


def otherwise_when_wide(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = torch.tanh(h + x[t])
    return h * 2 if x.shape[1] > 500 else h


def otherwise_when_long(x: Tensor) -> Tensor:
    h = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = torch.tanh(h + x[t])
    return h * 2 if x.shape[0] > 2000 else h


def otherwise_after_what_was_found(x: Tensor) -> Tensor:
    total = torch.zeros(())
    for i in x[:, 0].nonzero().flatten():
        total = total * 0.5 + x[i].sum()
    return total * 2 if x.shape[1] > 500 else total


@pytest.mark.parametrize("length", [5, 50])
@pytest.mark.parametrize(
    "forward", [otherwise_when_wide, otherwise_when_long, otherwise_after_what_was_found]
)
def test_a_question_beside_a_loop_is_asked_in_the_file(
    forward: Any, length: int, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, path = Model(forward), tmp_path / "m.onnx"
    shapes = ({0: "rows", 1: "columns"},)
    onnxpert.export(model, (torch.randn(length, 3),), path, dynamic_shapes=shapes)
    sizes = ((4, 3), (3, 500), (2, 501), (2000, 2), (2001, 2))
    assert_same(model, path, [(torch.randn(*size),) for size in sizes])
