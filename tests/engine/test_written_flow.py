"""Branches and loops of all kinds in one model, each written down whole."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from tests.engine.models import Model


def assert_same(model: nn.Module, path: Path, inputs: Sequence[Tensor]) -> None:
    session = onnxruntime.InferenceSession(path)
    (name,) = [given.name for given in session.get_inputs()]
    for x in inputs:
        expected = model(x.clone())
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = session.run(None, {name: x.numpy()})
        for want, got in zip(expected, found, strict=True):
            torch.testing.assert_close(torch.tensor(got), torch.as_tensor(want))


# ---- several in one ------------------------------------------------------------------------


def all_kinds(x: Tensor) -> Tensor:
    h = torch.zeros(3)
    for t in range(x.shape[0]):
        if x[t].sum() > 0:  # noqa: SIM108 - as people write it
            h = h + x[t]
        else:
            h = h * 0.5
    while h.abs().max() > 1:
        h = h * 0.7
    return h


def while_with_if(x: Tensor) -> Any:
    up, down = 0, 0
    while x.abs().max() > 1 and up + down < 40:
        if x.sum() > 0:
            x = x - 0.3
            down += 1
        else:
            x = x + 0.2
            up += 1
    return x, up, down


def lower_half(x: Tensor) -> Tensor:
    n = x.shape[0]
    found = torch.zeros(n, n)
    for i in range(n):
        for j in range(i):
            found[i, j] = (x[i] * x[j]).sum()
    return found


def pairs(x: Tensor) -> Tensor:
    found = [torch.zeros(())]
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            found.append((x[i] - x[j]).abs().sum())  # noqa: PERF401
    return torch.stack(found)


def bubbles(x: Tensor) -> Tensor:
    x = x[:, 0].clone()
    for i in range(x.shape[0]):
        for j in range(x.shape[0] - 1 - i):
            if x[j] > x[j + 1]:
                low = x[j + 1].clone()
                x[j + 1] = x[j]
                x[j] = low
    return x


def by_parity(x: Tensor) -> Any:
    even, odd = torch.zeros(3), torch.ones(3)
    for t in range(x.shape[0]):
        if t % 2 == 0:
            even = even + x[t]
        else:
            odd = odd * 0.5 + x[t]
    return even, odd


def best(x: Tensor) -> Any:
    value, at = x[0].sum(), 0
    for t in range(1, x.shape[0]):
        here = x[t].sum()
        if here > value:
            value, at = here, t
    return value, at


def until_found(x: Tensor) -> Any:
    i = 0
    while i < x.shape[0] and x[i, 0] < 0.5:
        i += 1
    return x[:i].sum(0), i


def given_back_early(x: Tensor) -> Tensor:
    for t in range(x.shape[0]):
        if x[t].max() > 1.2:
            return x[t] * t
    return -x.sum(0)


def halves(x: Tensor) -> Tensor:
    while x.shape[0] > 1:
        if x.shape[0] % 2:
            x = torch.cat([x, torch.zeros(1, 3)])
        x = torch.tanh(x[0::2] + x[1::2])
    return x


def yielded(x: Tensor) -> Tensor:
    def rows() -> Any:
        h = torch.zeros(3)
        for t in range(x.shape[0]):
            h = 0.5 * h + x[t]
            yield h

    return torch.stack(list(rows()))


def row_by_row(x: Tensor) -> Tensor:
    found = []
    state = torch.zeros(1, 3)
    for t in range(x.shape[0]):
        best = (x[t : t + 1] + state).argmax(-1)
        if best.item() == 0:
            continue
        found.append(best)
        state = state + 0.1 * best
    return torch.cat(found) if found else torch.zeros(0, dtype=torch.int64)


def last_turn_counts(x: Tensor) -> Tensor:
    totals = []
    for row in x:
        going = torch.ones(3, dtype=torch.bool)
        total = torch.zeros(3)
        for turn in range(6):
            total = total + going * row
            going = going & ~((total > 2) | (turn == 4))
            if not going.any():
                break
        totals.append(total)
    return torch.stack(totals)


def chunks(x: Tensor) -> Tensor:
    return torch.cat([torch.softmax(part, 0) for part in x.chunk(3)])


def blocks(x: Tensor) -> Tensor:
    return torch.stack([x[i : i + 3].mean(0) for i in range(0, x.shape[0], 3)])


def numbers_by_and_and_or(x: Tensor) -> Any:
    rows = []
    for row in x:
        factor = (row.sum() > 0 and row.max() > 0.5 and 2.5) or (row.min() < -1 and 3) or -1
        rows.append(row * factor)
    mean = x.mean().item()
    return torch.stack(rows) + (max(mean, 0.0) or 4.0), (x.shape[0] > 2 and mean) or 7.0


@pytest.mark.parametrize(
    "forward",
    [
        all_kinds,
        while_with_if,
        lower_half,
        pairs,
        bubbles,
        by_parity,
        best,
        until_found,
        given_back_early,
        halves,
        yielded,
        chunks,
        blocks,
        row_by_row,
        last_turn_counts,
        numbers_by_and_and_or,
    ],
)
def test_right_at_other_lengths_and_values(forward: Callable[..., Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model(forward)
    path = tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(5, 3),), path, dynamic_shapes={"x": {0: "n"}})
    assert_same(model, path, [torch.randn(n, 3) * s for n in (1, 2, 5, 7, 12) for s in (0.2, 1, 3)])


def as_many_as_the_largest(x: Tensor) -> Tensor:
    y = x
    for i in range(int(x.max().item())):
        y = y * 0.5 + i
    return y


def split_as_told(x: Tensor) -> Tensor:
    sizes = x[:, 0].abs().long()
    rows = torch.arange(int(sizes.sum())).float()
    return torch.stack([part.sum() for part in rows.split(sizes.tolist())])


@pytest.mark.parametrize("forward", [as_many_as_the_largest, split_as_told])
def test_as_often_as_the_data_say(forward: Callable[..., Any], tmp_path: Path) -> None:
    model = Model(forward)
    path = tmp_path / "m.onnx"
    x = torch.tensor([[1.5, 0.0], [3.2, 1.0], [2.0, 2.5]])
    onnxpert.export(model, (x,), path, dynamic_shapes={"x": {0: "n"}})
    others = [torch.rand(n, 2, generator=torch.manual_seed(n)) * 6 for n in (1, 2, 5)]
    assert_same(model, path, [x, *others])


def test_a_hundred_turns_and_more(tmp_path: Path) -> None:
    def shrinking(x: Tensor) -> Any:
        y = x.abs().sum()
        k = torch.zeros((), dtype=torch.int64)
        while y > 0.5:
            y = y * 0.97
            k += 1
        return y, k

    model = Model(shrinking)
    path = tmp_path / "m.onnx"
    onnxpert.export(model, (torch.full((4,), 3.0),), path)
    assert_same(model, path, [torch.full((4,), v) for v in (0.01, 3.0, 1000.0)])


def until_it_stays(x: Tensor) -> Tensor:
    centre = x[:3]
    for _ in range(12):
        near = (x[:, None] - centre).abs().sum(-1).argmin(1)
        new = torch.stack([x[near == k].mean(0) if (near == k).any() else x[0] for k in range(3)])
        if torch.allclose(new, centre, atol=1e-4):
            break
        centre = new
    return centre


def test_the_first_few_may_be_fewer(tmp_path: Path) -> None:
    """`x[:3]` is no longer than x, and what is compared with it needs the size of neither."""
    torch.manual_seed(0)
    model, path = Model(until_it_stays), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(9, 3),), path, dynamic_shapes={"x": {0: "n"}})
    assert_same(model, path, [torch.randn(n, 3) * s for n in (3, 4, 9, 14) for s in (0.2, 1, 3)])


class Settling(nn.Module):
    """The weights fix one axis; the other is nobody's business but the user's."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        turns = 0
        while x.abs().max() > 0.1 and turns < 100:
            x = torch.tanh(self.mix(x)) * 0.5
            turns += 1
        return x


def test_an_axis_that_weights_fix_keeps_no_other_from_varying(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Settling(), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(5, 4),), path, dynamic_shapes="auto")
    assert_same(model, path, [torch.randn(rows, 4) for rows in (1, 5, 9)])


class OfEach(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.stack([x[place, :end].sum() for place, end in enumerate(lengths.tolist())])


def test_two_that_go_together_are_no_size_that_the_model_fixes(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    args = (torch.randn(2, 5), torch.tensor([5, 3]))
    onnxpert.export(OfEach(), args, path, dynamic_shapes="auto")
    x, lengths = torch.randn(4, 6), torch.tensor([1, 6, 2, 3])
    (got,) = onnxruntime.InferenceSession(path).run(
        None, {"x": x.numpy(), "lengths": lengths.numpy()}
    )
    torch.testing.assert_close(torch.tensor(got), OfEach()(x, lengths))


class Boxes(nn.Module):
    def forward(self, x: Tensor, boxes: Tensor) -> Tensor:
        return torch.stack([x[top:end, left].sum() for top, end, left in boxes.tolist()])


def test_as_many_lists_of_numbers_as_there_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    args = (torch.randn(5, 4), torch.tensor([[0, 2, 1], [1, 5, 3]]))
    onnxpert.export(Boxes(), args, path, dynamic_shapes={"x": None, "boxes": {0: "boxes"}})
    x, boxes = torch.randn(5, 4), torch.tensor([[2, 3, 0], [0, 5, 3], [1, 1, 2]])
    (got,) = onnxruntime.InferenceSession(path).run(None, {"x": x.numpy(), "boxes": boxes.numpy()})
    torch.testing.assert_close(torch.tensor(got), Boxes()(x, boxes))


def test_a_finding_in_a_loop_is_at_its_own_columns() -> None:
    report = onnxpert.diagnose(Settling(), (torch.randn(5, 4),), dynamic_shapes="auto")
    (found,) = [finding for finding in report.findings if finding.rule == "SHP201"]
    at = found.location
    assert at is not None
    assert at.code == "x = torch.tanh(self.mix(x)) * 0.5"
    assert at.code[at.column - 13 : at.end_column - 13] == "self.mix(x)"  # twelve are indented
    assert not found.stack  # a turn of a loop is no call


def between(x: Tensor) -> Tensor:
    n = x.shape[0]
    if 2 < n <= x[:, 1:].shape[0] < 10 <= n + 6:
        x = x + 1
    elif 1 < (x > 0).sum() <= x.shape[1] < n + 9:
        x = x * 2
    while x.abs().max() > 9:
        x = x * 0.5
    return x


def test_comparisons_in_a_row_have_both_sides(tmp_path: Path) -> None:
    model, path = Model(between), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(5, 3),), path, dynamic_shapes=({0: "rows"},))
    assert_same(model, path, [torch.randn(n, 3) + m for n in (1, 2, 3, 4, 9, 10) for m in (0, 12)])


# ---- what is left alone --------------------------------------------------------------------


class Counting(nn.Module):
    """Its attribute is written on one side of a branch that the data decide."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, x: Tensor) -> Tensor:
        while x.abs().max() > 1:
            if x.sum() > 0:
                self.note()
            x = x * 0.5
        return x + self.seen

    def note(self) -> None:
        self.seen += 1


def test_what_a_turn_changes_of_a_module_is_no_secret(tmp_path: Path) -> None:
    model = Counting()
    with pytest.raises(onnxpert.ExportError):
        onnxpert.export(model, (torch.full((3,), 5.0),), tmp_path / "m.onnx")
    assert model.seen == 0


def test_the_functions_are_as_they_were(tmp_path: Path) -> None:
    code = while_with_if.__code__
    model = Model(while_with_if)
    onnxpert.export(model, (torch.randn(4, 3),), tmp_path / "m.onnx")
    assert while_with_if.__code__ is code
    assert not [name for name in while_with_if.__globals__ if name.startswith("_ox_")]


def test_a_word_that_the_data_choose_is_compared(tmp_path: Path) -> None:
    """It is not for certain none of those that it is compared with."""

    def model(x: Tensor) -> Any:
        state = "idle"
        for t in range(x.shape[0]):
            if x[t, 0] > 0:
                state = "run"
            elif x[t, 0] < -0.5:
                state = "idle"
        return x * 2, state == "run"

    torch.manual_seed(0)
    path = tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(6, 4),), path, dynamic_shapes=({0: "n"},))
    session = onnxruntime.InferenceSession(path)
    for size in (1, 2, 5, 9):
        x = torch.randn(size, 4)
        assert session.run(None, {"x": x.numpy()})[1] == model(x)[1]


class Halving(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while x.shape[1] > 1:
            rest = x[:, -1:] if x.shape[1] % 2 else x[:, :0]
            pairs = x[:, : x.shape[1] // 2 * 2]
            x = torch.cat([pairs[:, ::2] - pairs[:, 1::2], rest], 1)
        return x


def test_where_nobody_is_seen_to_refer_to_a_function(tmp_path: Path) -> None:
    """After `gc.freeze` the functions to rewrite are found by their names."""
    path, model = tmp_path / "m.onnx", Halving()
    gc.collect()
    gc.freeze()
    try:
        shapes = ({1: "columns"},)
        assert onnxpert.export(model, (torch.randn(2, 6),), path, dynamic_shapes=shapes).ok
    finally:
        gc.unfreeze()
    session = onnxruntime.InferenceSession(path)
    for columns in (1, 2, 5, 8, 13):
        x = torch.randn(2, columns)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(model(x), torch.from_numpy(got))


class RowOfWhatIsWritten(nn.Module):
    """What the loop leaves is a row of `a`, by way of a branch, and sees what is written to `a` later."""

    def forward(self, x: Tensor) -> Tensor:
        a, v = x * 0.9, x.mean(0)
        if v[0] > v[1]:
            for i in range(x.shape[0]):
                if a[i, 0] > 0.1:
                    v = a[i]
                    break
            else:
                a[::2] *= 0.5
            a[1:] = torch.tanh(x)[1:]
            return a.sum(0) + v
        return a.sum(0) + x.mean(0) + v


def test_a_row_that_a_loop_leaves_sees_what_is_written_to_all(tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", RowOfWhatIsWritten()
    assert onnxpert.export(model, (torch.randn(3, 3),), path, dynamic_shapes=({0: "n"},)).ok
    rows = [[-1.0, -3.0, 0.5], [2.0, 0.5, -0.5], [1.0, 0.2, 0.3]]
    assert_same(model, path, [torch.tensor(rows), torch.tensor(rows[1:]), torch.tensor(rows[:2])])
