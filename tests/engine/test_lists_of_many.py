"""Lists whose length only a run knows, of tuples and of tensors of several sizes."""

from __future__ import annotations

import functools
import itertools
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

import onnxpert
from tests.engine.models import Model

Hit = namedtuple("Hit", "score row")


def unzipped(x: Tensor) -> Any:
    found = []
    for place, row in enumerate(x):
        if row.sum() > 0:
            found.append((row * 2, place))
    if not found:
        return x[:1] * 0, torch.zeros(1, dtype=torch.int64)
    rows, places = zip(*found)  # noqa: B905
    return torch.stack(rows), torch.tensor(places)


def best(x: Tensor) -> Any:
    hits = [(x[0].sum(), 0, x[0])]
    for place in range(1, x.shape[0]):
        if x[place, 0] > 0:
            hits.append((x[place].sum(), place, x[place]))  # noqa: PERF401
    hits = sorted(hits, key=lambda hit: hit[0], reverse=True)
    score, _, row = hits[0]
    return row * score, torch.tensor([place for _, place, _ in hits])


def by_name(x: Tensor) -> Any:
    hits, score, kept = [], torch.tensor(-1.0), torch.zeros(4)
    for row in x:
        if row.max() > 0.5:
            hits.append(Hit(row.max(), row))  # noqa: PERF401
    for hit in hits:
        if hit.score > score:
            score, kept = hit.score, hit.row
    return score, kept


def popped(x: Tensor) -> Any:
    todo, total, steps = [(x, 0)], torch.zeros(()), 0
    while todo and steps < 20:
        value, depth = todo.pop()
        steps += 1
        total = total + value.sum() * (depth + 1)
        if value.abs().max() > 0.5 and depth < 3:
            todo.append((value * 0.5, depth + 1))
            todo.append((value * 0.3, depth + 1))
    return total, torch.tensor(steps)


def of_several_sizes(x: Tensor) -> Any:
    pieces = []
    for number in (x[:, 0] > 0).long().cumsum(0).tolist():
        if number > 1:
            pieces.append((x[:number], number))  # noqa: PERF401
    if not pieces:
        return x[:1] * 0, x[0] * 0
    most = max(number for _, number in pieces)
    padded = [functional.pad(piece, (0, 0, 0, most - number)) for piece, number in pieces]
    return torch.stack(padded).sum(0), pieces[-1][0].sum(0)


def filled_up(x: Tensor) -> Any:
    pieces = []
    for row in x:
        pieces.append(row[: int((row > 0).sum())])  # noqa: PERF401
    first = pad_sequence(pieces, batch_first=True)
    return first, pad_sequence(pieces, padding_value=-1.0, padding_side="left")


def filled_up_rows(x: Tensor) -> Any:
    pieces = [x.repeat_interleave((row > 0).long() * 2, dim=1).T for row in x]
    return pad_sequence(pieces, batch_first=True), pad_sequence([row * 2 for row in x])


def pairs(x: Tensor) -> Any:
    ends = [(start, min(start + 2, x.shape[0])) for start in range(0, x.shape[0], 2)]
    halves = [(place, (place / 2, place > 2)) for place in range(x.shape[0])]
    sums = torch.stack([x[start:end].sum(0) for start, end in ends])
    return sums, torch.tensor(ends), torch.tensor([half for _, half in halves])


def written_afterwards(x: Tensor) -> Any:
    places, rows = list(range(x.shape[0])), [row * 2 for row in x]
    numbers, stacked = torch.tensor(places), torch.stack(rows)
    numbers += 5
    stacked[0] = 9.0
    return numbers, torch.tensor(places), stacked, torch.stack(rows)


def ends_replaced(x: Tensor) -> Any:
    last, rest = [], []
    for row in x:
        last[-1:] = [row * 2]
        rest.append(row)
    rest[1:] = [x.sum(0)]
    return torch.stack(last), torch.stack(rest)


def folded(x: Tensor) -> Any:
    blended = functools.reduce(functools.partial(torch.lerp, weight=0.3), x)
    running = torch.stack(list(itertools.accumulate(x.unbind(0), torch.maximum)))
    products = list(itertools.accumulate((row.sum() for row in x), torch.mul, initial=x[0, 0]))
    return blended, running, torch.stack(products)


def combined(x: Tensor) -> Any:
    steps = [b - a for a, b in itertools.pairwise([row * 2 for row in x] + [x.sum(0)])]
    sums = [a * b for a, b in itertools.combinations(x, 2)] + [x[0]]
    grid = [(i + 1) * x[0, j] for i, j in itertools.product(range(x.shape[0]), range(2, 4))]
    return torch.stack(steps), torch.stack(sums), torch.stack(grid)


def put_in(x: Tensor) -> Any:
    kept = [x[0]]
    for row in x:
        kept.extend(x[: int((row > 0).sum())].unbind(0))
        kept.extend([row * 2])
    return torch.stack(kept), torch.tensor(len(kept))


def largest_of_few(x: Tensor) -> Any:
    best = max((float(row.max()) for row in x if row.sum() > 0), default=-1.0)
    least = min([int((row > 0).sum()) for row in x if row[0] > 0], default=9)
    return best * x[0], torch.tensor(least)


def split_where_the_data_say(x: Tensor) -> Any:
    pieces = torch.tensor_split(x, (x[:, 0] * 2).long())
    return pad_sequence(list(pieces), batch_first=True), torch.tensor([len(p) for p in pieces])


def numbers_of_rows(x: Tensor) -> Any:
    grids = []
    for one, other in (x[:, :2] > 0).long() + 1:
        grids.append(torch.arange(one).unsqueeze(1).expand(-1, other).flatten())
    return torch.cat(grids), torch.tensor(len(grids))


FUNCTIONS = [
    folded,
    combined,
    put_in,
    largest_of_few,
    split_where_the_data_say,
    numbers_of_rows,
    ends_replaced,
    unzipped,
    best,
    by_name,
    popped,
    of_several_sizes,
    filled_up,
    filled_up_rows,
    pairs,
    written_afterwards,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_lengths_and_values(function: Callable[[Tensor], Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Model(function), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(4, 4),), path, dynamic_shapes=({0: "rows"},))
    session = onnxruntime.InferenceSession(path)
    for rows, moved in ((1, 0.0), (2, -9.0), (3, 9.0), (5, 0.0), (13, 0.2)):
        x = torch.randn(rows, 4) + moved
        (name,) = [given.name for given in session.get_inputs()]
        for got, want in zip(session.run(None, {name: x.numpy()}), model(x), strict=True):
            torch.testing.assert_close(torch.tensor(got), want)


def test_a_loop_over_what_is_left_takes_nothing_at_all(tmp_path: Path) -> None:
    def suppressed(x: Tensor) -> Tensor:
        order, kept = x.argsort(), []
        while order.numel() > 0:
            kept.append(order[0])
            rest = order[1:]
            order = rest[(x[rest] - x[order[0]]).abs() > 0.5]
        return torch.stack(kept) if kept else torch.empty(0, dtype=torch.int64)

    model, path = Model(suppressed), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.tensor([0.1, 2.0, 0.3, 1.7]),), path, dynamic_shapes=({0: "n"},))
    session = onnxruntime.InferenceSession(path)
    for values in ([], [3.0], [1.0, 5.0, 1.1, 7.0, 5.2]):
        x = torch.tensor(values)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x))


def test_a_tensor_that_is_written_later_is_in_no_copied_tuple() -> None:
    def written(x: Tensor) -> Any:
        found, total = [], torch.zeros(4)
        for row in x:
            total += row
            if row.sum() > 0:
                found.append((total, row))
        return torch.stack([one for one, _ in found]).sum(0) if found else total

    report = onnxpert.diagnose(Model(written), (torch.randn(4, 4),), dynamic_shapes=({0: "n"},))
    assert not report.ok


def test_of_an_empty_list_torch_makes_a_tensor_of_another_dtype() -> None:
    def places(x: Tensor) -> Tensor:
        return torch.tensor([place for place, row in enumerate(x) if row.sum() > 0])

    report = onnxpert.diagnose(Model(places), (torch.randn(5, 4),), dynamic_shapes=({0: "n"},))
    (finding,) = [finding for finding in report.findings if finding.rule == "NUM701"]
    assert "another dtype" in finding.message


def _halved(x: Tensor) -> tuple[Tensor, list[Tensor]]:
    details: list[Tensor] = []
    while x.shape[1] > 1:
        x = functional.pad(x, (0, x.shape[1] % 2))
        details.append(x[:, ::2] - x[:, 1::2])
        x = x[:, ::2] + x[:, 1::2]
    return x, details


def _coarse_first(x: Tensor) -> Tensor:
    top, details = _halved(x)
    return torch.cat([top] + details[::-1], 1)  # noqa: RUF005


def _neighbours(x: Tensor) -> Tensor:
    top, details = _halved(x)
    details.append(top)
    return torch.cat(details[1:], 1) * 2 if x.shape[1] > 1 else top


def _taken_off(x: Tensor) -> Tensor:
    top, details = _halved(x)
    details.append(top)
    first, last = details.pop(0), details.pop() if x.shape[1] > 1 else top
    return first.sum(1) - last.sum(1)


@pytest.mark.parametrize("function", [_coarse_first, _neighbours, _taken_off])
def test_items_of_several_sizes_are_turned_and_cut(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    model, path = Model(function), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(3, 8),), path, dynamic_shapes=({0: "b", 1: "d"},))
    session = onnxruntime.InferenceSession(path)
    for rows, width in ((2, 1), (1, 2), (2, 5), (4, 16), (2, 29)):
        x = torch.randn(rows, width)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x))


def first_and_last_pieces(x: Tensor) -> Any:
    pieces = x.split(2, 1)
    half = x.chunk(2, 1)[0]
    return pieces[0] * 2, pieces[-1].sum(), half.mean(1) + len(pieces)


def test_a_piece_of_as_many_as_a_size_says(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    sizes = ({1: "n"},)
    onnxpert.export(first_and_last_pieces, (torch.randn(3, 6),), path, dynamic_shapes=sizes)
    session = onnxruntime.InferenceSession(path)
    for size in (1, 2, 3, 6, 7, 12):
        x = torch.randn(3, size)
        for got, want in zip(
            session.run(None, {"x": x.numpy()}), first_and_last_pieces(x), strict=True
        ):
            torch.testing.assert_close(torch.tensor(got), want)


def test_a_piece_that_few_sizes_have_bounds_the_size(tmp_path: Path) -> None:
    class Second(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.chunk(3, 1)[1] * 2

    path = tmp_path / "second.onnx"
    report = onnxpert.export(Second(), (torch.randn(2, 6),), path, dynamic_shapes=({1: "n"},))
    (found,) = [each for each in report.findings if each.rule == "SHP203"]
    assert "n of at least 2" in found.message
    assert found.location is not None
    assert found.location.code == "return x.chunk(3, 1)[1] * 2"


def first_piece(x: Tensor) -> Tensor:
    return x.split(2, 1)[:1][0] * 2


def inner_pieces(x: Tensor) -> Tensor:
    return torch.cat([piece.cumsum(1) for piece in x.split(2, 1)[1:-1]] + [x[:, :1]], 1)


def every_other_piece(x: Tensor) -> Tensor:
    total = x[:, 0] * 0
    for piece in x.split(2, 1)[::2]:
        total = total + piece.sum(1)
    return total


@pytest.mark.parametrize("model", [first_piece, inner_pieces, every_other_piece])
def test_a_part_of_as_many_pieces_as_a_size_says(
    model: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(3, 6),), path, dynamic_shapes=({1: "n"},))
    session = onnxruntime.InferenceSession(path)
    for size in (1, 2, 3, 6, 7, 12):
        x = torch.randn(3, size)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x))


def first_large(x: Tensor) -> Any:
    place = next((i for i, row in enumerate(x) if row.sum() > 1), -1)
    return x * 2, place


def flagged(x: Tensor) -> Any:
    flags = [bool(row.sum() > 1) for row in x]
    return torch.tensor(flags), torch.tensor(flags, dtype=torch.float32)


@pytest.mark.parametrize("model", [first_large, flagged])
def test_the_first_of_many_and_truths_of_many(
    model: Callable[[Tensor], Any], tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    torch.manual_seed(0)
    onnxpert.export(model, (torch.rand(5, 3),), path, dynamic_shapes=({0: "n"},))
    session = onnxruntime.InferenceSession(path)
    for size, scale in ((1, 1), (2, -1), (3, 0.1), (7, 1), (6, 5)):
        x = torch.rand(size, 3) * scale
        for got, want in zip(session.run(None, {"x": x.numpy()}), model(x), strict=True):
            torch.testing.assert_close(torch.tensor(got), torch.as_tensor(want))
