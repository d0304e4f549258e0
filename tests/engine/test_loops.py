"""Python loops over dynamic sizes: one file that is right at every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import onnxpert

SEQUENCE = {"x": {0: "b", 1: "t"}}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.i, self.h = nn.Linear(3, 5), nn.Linear(5, 5)

    def forward(self, x: torch.Tensor) -> Any:
        h = x.new_zeros(x.shape[0], 5)
        outs = []
        for t in range(x.shape[1]):
            h = torch.tanh(self.i(x[:, t]) + self.h(h))
            outs.append(h)
        return torch.stack(outs, 1), h


class WritesByIndex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)

    def forward(self, x: torch.Tensor) -> Any:
        batch, length, _ = x.shape
        h, out = torch.zeros(batch, 4), torch.zeros(batch, length, 4)
        for t in range(length):
            h = self.cell(x[:, t], h)
            out[:, t] = h
        return out


class BothWays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f, self.b = nn.LSTMCell(3, 4), nn.LSTMCell(3, 4)

    def forward(self, x: torch.Tensor) -> Any:
        forth = back = (x.new_zeros(x.size(0), 4), x.new_zeros(x.size(0), 4))
        fs, bs = [], []
        for t in range(x.size(1)):
            forth = self.f(x[:, t], forth)
            fs.append(forth[0])
        for t in reversed(range(x.size(1))):
            back = self.b(x[:, t], back)
            bs.append(back[0])
        return torch.cat([torch.stack(fs, 1), torch.stack(bs[::-1], 1)], -1)


class LayersWithin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.GRUCell(3, 3) for _ in range(2)])

    def forward(self, x: torch.Tensor) -> Any:
        states = [x.new_zeros(x.size(0), 3) for _ in self.layers]
        outs = []
        for step in x.unbind(1):
            for place, layer in enumerate(self.layers):
                step = states[place] = layer(step, states[place])  # noqa: PLW2901
            outs.append(step)
        return torch.stack(outs, 1), torch.stack(states)


class Growing(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        known = x.new_zeros(x.shape[0], 0, 3)
        outs = []
        for t in range(x.shape[1]):
            known = torch.cat([known, x[:, t : t + 1]], 1)
            weights = (x[:, t : t + 1] @ known.transpose(1, 2)).softmax(-1)
            outs.append(weights @ known)
        return torch.cat(outs, 1)


class EverySecond(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.stack([x[:, t] * 2 for t in range(0, x.shape[1], 2)], 1)


class InSteps(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        total = torch.zeros(3)
        for t in range(0, x.shape[1], 2):
            total = total * 0.5 + x[0, t]
        for t in range(x.shape[1] - 1, -1, -3):
            total = total - x[0, t] * t
        return total


class Enumerated(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cat([step * (i + 1) for i, step in enumerate(x.unbind(1))], -1)


class FromTheFirst(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        outs = [x[:, 0]]
        for t in range(1, x.shape[1]):
            outs.append(outs[-1] * 0.9 + x[:, t])
        return torch.stack(outs, 1)


class TwoAgo(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        a, b = torch.zeros_like(x[:, 0]), torch.ones_like(x[:, 0])
        for step in x.unbind(1):
            a, b = b, a * 0.3 + b * 0.2 + step
        return b


class LastDiffers(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        h, length = x[:, 0], x.shape[1]
        for t in range(length):
            h = h + x[:, t]
            if t < length - 1:
                h = torch.relu(h)
        return h / length


class WhileOnSize(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        t, h = 0, torch.zeros_like(x[:, 0])
        while t < x.shape[1]:
            h = h * 0.5 + x[:, t]
            t += 1
        return h


class InItself(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x.clone()
        for t in range(1, x.shape[1]):
            y[:, t] += y[:, t - 1] * 0.5
        return y


class Windows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.stack([x[:, t : t + 3].mean(1) for t in range(x.shape[1] - 2)], 1)


class BestSoFar(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        best = x.new_full((x.shape[0], 3), -1e9)
        place = torch.zeros(x.shape[0], 3, dtype=torch.long)
        for t in range(x.shape[1]):
            better = x[:, t] > best
            best = torch.where(better, x[:, t], best)
            place = torch.where(better, torch.tensor(t), place)
        return best, place


class BroadcastStart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.randn(1, 3))

    def forward(self, x: torch.Tensor) -> Any:
        h = c = self.start
        outs = []
        for step in x.unbind(1):
            h, c = torch.tanh(torch.stack([h, c]).sum(0) + step), h * 0.5 + step
            outs.append(h + c)
        return torch.stack(outs, 1)


class BestPath(nn.Module):
    """There and back again: the second loop reads what the first left behind, from its end."""

    def __init__(self) -> None:
        super().__init__()
        self.moves = nn.Parameter(torch.randn(3, 3))

    def forward(self, x: torch.Tensor) -> Any:
        score, history = x[:, 0], []
        for t in range(1, x.shape[1]):
            score, came_from = (score.unsqueeze(2) + self.moves).max(1)
            score = score + x[:, t]
            history.append(came_from)
        path = [score.argmax(1)]
        for came_from in reversed(history):
            path.append(came_from.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return torch.stack(path[::-1], 1)


class WholeWindow(nn.Module):
    """A plain number where a size is meant: torch takes no symbol there."""

    def forward(self, x: torch.Tensor) -> Any:
        pooled = nn.functional.max_pool1d(x.transpose(1, 2), x.shape[1]).squeeze(2)
        steps = torch.linspace(0, 1, x.shape[1])
        return pooled, (x * steps[:, None]).sum(1)


class ConstantWithin(nn.Module):
    """Made anew in every turn, and never written to."""

    def forward(self, x: torch.Tensor) -> Any:
        best = x[:, 0]
        for t in range(1, x.shape[1]):
            none = torch.tensor([[-1e9]]).expand(x.shape[0], 1)
            moved = torch.cat([none, best[:, :-1]], 1)
            best = x[:, t] * torch.tensor(0.5) + torch.maximum(best, moved)
        return best


class Halves(nn.Module):
    """No loop at all: the number came through Python."""

    def forward(self, x: torch.Tensor) -> Any:
        half = int(x.shape[1] / 2)
        return x[:, :half].sum(1), x.reshape(x.shape[0], int(x.shape[1]) * 3)


SEQUENCES = [
    Recurrent, WritesByIndex, BothWays, LayersWithin, Growing, EverySecond, Enumerated,
    FromTheFirst, TwoAgo, LastDiffers, WhileOnSize, InItself, Windows, BestSoFar, Halves,
    BroadcastStart, BestPath, WholeWindow, InSteps, ConstantWithin,
]  # fmt: skip


def compared(model: nn.Module, path: Path, *shapes: tuple[int, ...]) -> int:
    """How many of the shapes the model takes; the file must agree on all of those."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    taken = 0
    for shape in shapes:
        x = torch.randn(shape)
        try:
            want = model(x.clone())
        except (RuntimeError, ValueError, LookupError, ZeroDivisionError):
            continue
        got = session.run(None, {"x": x.numpy()})
        for a, b in zip(want if isinstance(want, tuple) else (want,), got, strict=True):
            assert tuple(a.shape) == b.shape
            np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-4, atol=1e-5)
        taken += 1
    return taken


@pytest.mark.parametrize("kind", SEQUENCES, ids=lambda kind: kind.__name__)
def test_over_a_sequence(kind: type[nn.Module], tmp_path: Path) -> None:
    model, path = kind().eval(), tmp_path / "loop.onnx"
    report = onnxpert.export(model, (torch.randn(2, 4, 3),), path, dynamic_shapes=SEQUENCE)
    assert report.ok
    assert compared(model, path, (2, 0, 3), (3, 1, 3), (1, 2, 3), (2, 7, 3), (2, 13, 3)) >= 2


def test_a_loop_is_a_loop_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "loop.onnx"
    onnxpert.export(Recurrent().eval(), (torch.randn(2, 4, 3),), path, dynamic_shapes=SEQUENCE)
    assert [node.op_type for node in onnx.load(path).graph.node].count("Loop") == 1


class Masked(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
        x = x * mask[:, :, None]
        h, outs = x.new_zeros(x.shape[0], 3), []
        for t in range(x.shape[1]):
            h = torch.tanh(h * 0.5 + x[:, t])
            outs.append(h)
        return torch.stack(outs, 1)


def test_two_inputs_of_one_length(tmp_path: Path) -> None:
    model, path = Masked().eval(), tmp_path / "masked.onnx"
    any_size = torch.export.Dim.DYNAMIC
    shapes = {"x": {1: any_size}, "mask": {1: any_size}}
    example = (torch.randn(2, 4, 3), torch.ones(2, 4))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for length in (1, 3, 11):
        x, mask = torch.randn(2, length, 3), torch.rand(2, length)
        got = session.run(None, {"x": x.numpy(), "mask": mask.numpy()})[0]
        np.testing.assert_allclose(model(x, mask).numpy(), got, rtol=1e-4, atol=1e-5)


class Grid(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        height, width = x.shape
        out = torch.zeros(height, width)
        for i in range(height):
            for j in range(width):
                out[i, j] = x[i, j] * 2 + i - j
        return out


class GridList(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        height, width = x.shape
        outs = [x[i, j].sin() + i for i in range(height) for j in range(width)]
        return torch.stack(outs).view(height, width)


class Rows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        total = torch.zeros(x.shape[1])
        for row in x:
            total = total * 0.5 + row
        return total, sum(x)


@pytest.mark.parametrize("kind", [Grid, GridList, Rows], ids=lambda kind: kind.__name__)
def test_over_both_axes(kind: type[nn.Module], tmp_path: Path) -> None:
    model, path = kind().eval(), tmp_path / "grid.onnx"
    shapes = {"x": {0: "h", 1: "w"}}
    assert onnxpert.export(model, (torch.randn(4, 5),), path, dynamic_shapes=shapes).ok
    assert compared(model, path, (1, 1), (3, 2), (2, 7), (7, 1)) == 4


class EachItsOwn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])

    def forward(self, x: torch.Tensor) -> Any:
        return torch.stack([self.cells[t](x[:, t]) for t in range(x.shape[1])], 1)


class EachByName(EachItsOwn):
    def forward(self, x: torch.Tensor) -> Any:
        cells = dict(self.cells.named_children())
        return torch.stack([cells[f"{t}"](x[:, t]) for t in range(x.shape[1])], 1)


class EachByDigits(EachItsOwn):
    def forward(self, x: torch.Tensor) -> Any:
        cells = {bin(int(name)): cell for name, cell in self.cells.named_children()}
        return torch.stack([cells[bin(t)](x[:, t]) for t in range(x.shape[1])], 1)


@pytest.mark.parametrize(("kind", "error"), [(EachItsOwn, "IndexError"), (EachByName, "KeyError")])
def test_a_module_for_each_turn(kind: type[nn.Module], error: str, tmp_path: Path) -> None:
    model, path = kind().eval(), tmp_path / "loop.onnx"
    report = onnxpert.export(model, (torch.randn(2, 4, 3),), path, dynamic_shapes=SEQUENCE)
    assert compared(model, path, (2, 1, 3), (3, 2, 3), (1, 4, 3), (2, 5, 3)) == 3
    assert any(error in finding.message for finding in report.findings)


def test_what_cannot_vary_is_still_said() -> None:
    report = onnxpert.diagnose(
        EachByDigits().eval(), (torch.randn(2, 4, 3),), dynamic_shapes=SEQUENCE
    )
    assert "SHP201" in [finding.rule for finding in report.findings]


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, (h, _) = self.layer(packed)
        y, _ = pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])
        return y, h


def test_packed_sequences(tmp_path: Path) -> None:
    model, path = Packed().eval(), tmp_path / "packed.onnx"
    shapes = {"x": {0: "b", 1: "t"}, "lengths": {0: "b"}}
    example = (torch.randn(3, 6, 3), torch.tensor([6, 3, 5]))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    assert "LSTM" in [node.op_type for node in onnx.load(path).graph.node]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for x, lengths in [
        (torch.randn(3, 6, 3), torch.tensor([2, 6, 4])),
        (torch.randn(2, 8, 3), torch.tensor([5, 1])),
    ]:
        got = session.run(None, {"x": x.numpy(), "lengths": lengths.numpy()})
        for a, b in zip(model(x, lengths), got, strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-4, atol=1e-5)


def test_of_packed_sequences_what_can_vary_does(tmp_path: Path) -> None:
    """The layer asks nobody how many features they have, and takes one for whatever it needs."""
    path = tmp_path / "packed.onnx"
    args = (torch.randn(2, 6, 3), torch.tensor([6, 3]))
    onnxpert.export(Packed().eval(), args, path, dynamic_shapes="auto")
    x, lengths = (given.shape for given in onnxruntime.InferenceSession(path).get_inputs())
    assert [isinstance(size, str) for size in (*x, *lengths)] == [True, True, False, True]


def test_a_list_of_outputs_as_long_as_a_size_is_said() -> None:
    report = onnxpert.diagnose(
        lambda x: x.unbind(0), (torch.randn(3, 4),), dynamic_shapes={"x": {0: "rows"}}
    )
    assert not report.ok
    assert "SHP201" in {finding.rule for finding in report.findings}


class Blocks(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x.new_zeros(x.shape[1])
        for start in range(0, x.shape[0], 100):
            total = total * 0.5 + x[start : start + 100].sum(0)
        return total


@pytest.mark.parametrize("rows", [9, 150])
@pytest.mark.parametrize("shapes", [{"x": {0: "rows"}}, "auto"], ids=["asked", "offered"])
def test_a_second_block_is_looked_for(rows: int, shapes: Any, tmp_path: Path) -> None:
    """At the few lengths that tell what a loop is, this one makes a single turn."""
    path = tmp_path / "blocks.onnx"
    assert onnxpert.export(Blocks(), (torch.randn(rows, 3),), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path)
    for length in (1, 99, 100, 101, 350):
        x = torch.randn(length, 3)
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(Blocks()(x).numpy(), got, rtol=1e-4, atol=1e-4)


class OneCell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = x.new_zeros(6)
        for row in x:
            state = self.cell(row[None], state[None])[0]
        return state


@pytest.mark.parametrize("rows", [5, 40])
def test_an_axis_that_weights_fix_keeps_no_loop_from_varying(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "cell.onnx"
    torch.manual_seed(0)
    model = OneCell().eval()
    assert onnxpert.export(model, (torch.randn(rows, 4),), path, dynamic_shapes="auto").ok
    session = onnxruntime.InferenceSession(path)
    for length in (1, 2, 5, 13):
        x = torch.randn(length, 4)
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(model(x).detach().numpy(), got, rtol=1e-4, atol=1e-5)


class WritesIfPositive(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        out = torch.zeros_like(x)
        for t in range(x.shape[0]):
            if x[t].sum() > 0:
                out[t] = x[t] * 2
        return out


class Levels(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        out = x.clone()
        for t in range(1, x.shape[0]):
            if out[t, 0] > out[t - 1, 0]:
                out[t, 0] = out[t - 1, 0]
            else:
                out[t].mul_(0.5)
        return out


@pytest.mark.parametrize("kind", [WritesIfPositive, Levels], ids=lambda kind: kind.__name__)
def test_a_turn_that_writes_on_one_side_only(kind: type[nn.Module], tmp_path: Path) -> None:
    model, path = kind().eval(), tmp_path / "writes.onnx"
    torch.manual_seed(0)
    shapes = {"x": {0: "n"}}
    assert onnxpert.export(model, (torch.randn(5, 3),), path, dynamic_shapes=shapes).ok
    assert compared(model, path, (1, 3), (2, 3), (6, 3), (13, 3)) == 4


def test_a_number_of_chunks_that_comes_and_goes(tmp_path: Path) -> None:
    """Three at most sizes, two at four and two, one at one: a file for three is right at the sizes around."""

    class Chunks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.stack([part.sum(0) for part in x.chunk(3)])

    model, path = Chunks().eval(), tmp_path / "chunks.onnx"
    assert onnxpert.export(model, (torch.randn(10, 3),), path, dynamic_shapes={"x": {0: "n"}}).ok
    assert compared(model, path, *((n, 3) for n in range(1, 14))) == 13


def test_a_diagonal_of_any_size_is_filled(tmp_path: Path) -> None:
    class Others(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.eye(x.shape[0]).fill_diagonal_(3.0) @ x, (x @ x.T).fill_diagonal_(0)

    model, path = Others().eval(), tmp_path / "others.onnx"
    shapes = {"x": {0: "n"}}
    assert onnxpert.export(model, (torch.randn(5, 3),), path, dynamic_shapes=shapes).ok
    assert compared(model, path, (1, 3), (8, 3)) == 2


def test_a_loop_that_leaves_nothing_is_not_in_the_file(tmp_path: Path) -> None:
    class Warns(nn.Module):
        """The turns of `tolist` give what only the length of the list is asked of."""

        def forward(self, x: torch.Tensor) -> Any:
            count = len(x.to(torch.int64).unique().tolist())
            if count < 2:
                print("few")  # noqa: T201
            return x * 2, count

    path = tmp_path / "warns.onnx"
    assert onnxpert.export(Warns().eval(), (torch.arange(6.0),), path).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for values in ([1.0] * 6, [1.0, 1, 2, 2, 3, 3]):
        got = session.run(None, {"x": np.array(values, dtype=np.float32)})
        assert got[1] == len(set(values))
