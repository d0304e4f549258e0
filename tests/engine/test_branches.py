"""Models that branch in Python on data and on sizes: one file that takes the side the model takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import onnxpert
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.types import Verdict

R = torch.randn
Inputs = Callable[[], list[tuple[Tensor, ...]]]


def spread(*shape: int) -> Inputs:
    """Values around several means and of several sizes: both sides of most conditions."""
    return lambda: [(R(shape) * by + to,) for by in (0.1, 1, 10) for to in (-5, 0, 5)]


class EarlyExit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(6, 3) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer, head in zip(self.layers, self.heads, strict=True):
            x = torch.relu(layer(x))
            answer = head(x).softmax(-1)
            if answer.max().item() > 0.5:
                return answer
        return answer


class NanGuards(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
            if torch.isnan(x).any():
                x = torch.nan_to_num(x)
            if x.abs().max() > 2:
                x = x / x.abs().max()
        return x


class Sequential(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x
        if x.sum() > 0:
            y = y * 2
        if x.max() > 1:
            y = y + 1
        if x.min() < -1:
            y = y - x
        if x.mean() > 0.5:
            y = y * y
        if y.sum() > 3:
            y = y - 3
        return y


class Routed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain, self.deep = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        score = float(x.var())
        return self.deep(x) if score > 2.0 else self.plain(x)  # type: ignore[no-any-return]


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(1, dim=-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, slots = torch.where(chosen == number)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, expert(x[rows]) * weights[rows, slots].unsqueeze(-1))
        return out


class Returns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x[0] > 0:
            if x[1] > 0:
                return x.sum(0, keepdim=True) + 0 * x
            x = x * 3
        elif x[1] > 4:
            x = x - 7
        y = x.relu()
        if y.sum() > 5:
            return y / 5
        return y + 1


class Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x)
        if y.mean() > 0:
            return y * 2  # type: ignore[no-any-return]
        return y - 1  # type: ignore[no-any-return]


class CalledTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = Part(), Part()

    def forward(self, x: Tensor) -> Tensor:
        return self.one(self.two(self.one(x)))  # type: ignore[no-any-return]


class SharedLayer(nn.Module):
    """The frame looks the same in every turn: only the iterator knows that it is not a `while`."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.Linear(4, 4)
        self.layers = nn.ModuleList([layer, layer, layer])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
            if x.norm() > 1:
                x = x / x.norm() + 0.1
        return x


class Flag(nn.Module):
    """What the first branch leaves behind is a bool of Python's, read by the second."""

    def forward(self, x: Tensor) -> Tensor:
        negative = False
        if x.sum() < 0:
            x, negative = -x, True
        y = x.exp()
        if y.max() > 3 and negative:
            y = y + 1
        return -y if negative else y


class Unnamed(nn.Module):
    """Values that no variable holds when the next question is asked."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.add(x * 2 if x.sum() > 0 else x, x if x.max() > 1 else x - 1)


class Quantified(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a, b = x[:2], x[2:]
        if all(part.sum() > 0 for part in (a, b)):
            return a + b
        if any(part.max() > 3 for part in (a, b)) or a.min() < -3:
            return a - b
        return a * b


class Views(nn.Module):
    def forward(self, x: Tensor) -> Any:
        base = x.clone()
        head, grid = base[:2], base.view(2, 2)
        if x.sum() > 0:
            head.mul_(2)
        if x.max() > 1:
            grid[1] += 1
        head.add_(1)
        return base, grid.sum(1), head


class Pieces(nn.Module):
    def forward(self, x: Tensor) -> Any:
        base = x.clone()
        (head, tail), (first, *_) = base.split(2), base.tensor_split(3)
        if x.sum() > 0:
            head += 1
            tail = tail + first.sum()
        elif x.max() > 1:
            tail[0] = 7
        return base, head * 2, tail, first


class Tries(nn.Module):
    def doubled(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            raise KeyError("positive")
        return x * 2

    def forward(self, x: Tensor) -> Tensor:
        try:
            y = self.doubled(x)
        except KeyError:
            y = x - 2
        return y + x.sum()


class Shorter(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x[:3]
        return (x * 2).cumsum(0)


class Numbers(nn.Module):
    def forward(self, x: Tensor) -> Any:
        total = x.abs().sum().item()
        scale, hits = 1.0, 0
        if total > 2:
            scale, hits = 2.0 / total, hits + 1
        elif math.isnan(total):
            scale = 0.0
        return x * scale, hits


class Told(nn.Module):
    """Which side it was, as a truth of Python's."""

    def forward(self, x: Tensor) -> Any:
        mode = "up" if x.sum() > 0 else "down"
        return x * 2 if mode == "up" else x - 1, mode == "down"


class Kept(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        kept = x[x > 0]
        if kept.numel() == 0:
            return x.new_zeros(1)
        return kept.mean().reshape(1)


class Compared(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.allclose(x, x.abs()):
            return x * 0
        return x - 1


class Sorted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.stack(sorted([x[:2], x[2:], x[1:3]], key=lambda part: part.sum()))


DATA: dict[type[nn.Module], tuple[tuple[int, ...], Inputs]] = {
    EarlyExit: ((1, 6), spread(1, 6)),
    NanGuards: ((2, 4), lambda: [*spread(2, 4)(), (torch.full((2, 4), torch.nan),)]),
    Sequential: ((3,), spread(3)),
    Routed: ((4, 4), spread(4, 4)),
    Experts: ((3, 4), spread(3, 4)),
    Returns: ((4,), spread(4)),
    CalledTwice: ((2, 4), spread(2, 4)),
    SharedLayer: ((4,), spread(4)),
    Flag: ((3,), spread(3)),
    Unnamed: ((3,), spread(3)),
    Quantified: ((4,), spread(4)),
    Views: ((4,), spread(4)),
    Pieces: ((4,), spread(4)),
    Tries: ((3,), spread(3)),
    Shorter: ((6,), spread(6)),
    Numbers: ((3,), lambda: [*spread(3)(), (torch.tensor([1, torch.nan, 2]),)]),
    Told: ((4,), spread(4)),
    Kept: ((5,), spread(5)),
    Compared: ((3,), spread(3)),
    Sorted: ((4,), spread(4)),
}


@pytest.mark.parametrize("kind", DATA, ids=lambda kind: kind.__name__)
def test_a_branch_on_data_has_both_sides(kind: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    shape, inputs = DATA[kind]
    model = kind().eval()
    report = onnxpert.export(model, (R(shape),), tmp_path / "m.onnx")
    assert report.ok
    assert_same(model, tmp_path / "m.onnx", inputs())


# ---- sizes ---------------------------------------------------------------------------------


class Window(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 8:
            return x[-8:].mean(0)
        if x.shape[0] == 1:
            return x[0] * 10
        return x.sum(0)


class Padded(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] % 4 != 0:
            x = F.pad(x, (0, 0, 0, 4 - x.shape[0] % 4))
        return x.reshape(-1, 4, 3).mean(1)


class Fitted(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if x.shape[0] < y.shape[0]:
            x = F.pad(x, (0, 0, 0, y.shape[0] - x.shape[0]))
        else:
            x = x[: y.shape[0]]
        return x + y


class Canvas(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        canvas = torch.zeros(max(x.shape[0], y.shape[0]), 3)
        canvas[: x.shape[0]] = x
        canvas[: y.shape[0]] += y
        return canvas


class Grows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.arange(8.0)[:, None].expand(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > self.table.shape[0]:
            self.table = torch.arange(x.shape[0] * 2.0)[:, None].expand(x.shape[0] * 2, 3)
        return x + self.table[: x.shape[0]]


class Mixed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 4:
            x = x[:4] if x.sum() > 0 else x[-4:]
        if x.max() > 1:
            x = x - 1
        return x.mean(0)


class Half(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[: int(x.shape[0] / 2)]


ONE: list[Any] = [Window, Padded, Grows, Mixed, Half]


@pytest.mark.parametrize("kind", ONE, ids=lambda kind: kind.__name__)
def test_a_branch_on_a_size_has_both_sides(kind: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    example = (R(5, 3),)
    onnxpert.export(model, example, tmp_path / "m.onnx", dynamic_shapes={"x": {0: "n"}})
    inputs = [(R(size, 3) + to,) for size in (1, 2, 3, 4, 8, 9, 12, 17) for to in (-3, 3)]
    assert_same(kind().eval(), tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("kind", [Fitted, Canvas], ids=lambda kind: kind.__name__)
def test_a_branch_on_two_sizes_has_both_sides(kind: type[nn.Module], tmp_path: Path) -> None:
    shapes = {"x": {0: "m"}, "y": {0: "n"}}
    report = onnxpert.export(kind(), (R(2, 3), R(3, 3)), tmp_path / "m.onnx", dynamic_shapes=shapes)
    assert report.ok
    inputs = [(R(a, 3), R(b, 3)) for a in (1, 2, 5) for b in (1, 2, 4, 9)]
    assert_same(kind(), tmp_path / "m.onnx", inputs)


# ---- loops ---------------------------------------------------------------------------------


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Any:
        turns = torch.zeros(())
        while x.norm() > 1:
            x = x * 0.5
            turns = turns + 1
        return x + 1, turns


class Until(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while True:
            x = x * 0.7
            if x.norm() < 1:
                break
            x = x + 0.01
        return x * 2


class Started(nn.Module):
    """Two names for one tensor at first, and for two after a turn."""

    def forward(self, x: Tensor) -> Tensor:
        first = x
        while not x.norm() < 1:
            x = x * 0.5 + first * 0.01
        return x - first


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x) * 3
            while x.abs().max() > 1:
                x = x * 0.5 if x.sum() > 0 else x * 0.25 + 0.1
        return x


class Bounded(nn.Module):
    def forward(self, x: Tensor) -> Any:
        turns = 0
        while x.norm() > 1 and turns < 4:
            x, turns = x / 2, turns + 1
        return x, turns


LOOPS: list[Any] = [Halves, Until, Started, Nested, Bounded]


@pytest.mark.parametrize("kind", LOOPS, ids=lambda kind: kind.__name__)
def test_a_while_on_data_is_a_loop(kind: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    assert onnxpert.export(model, (R(4) * 5,), tmp_path / "m.onnx").ok
    assert_same(model, tmp_path / "m.onnx", spread(4)())
    loops = [node for node in nodes(tmp_path / "m.onnx") if node.op_type == "Loop"]
    assert len(loops) == {Nested: 2, Bounded: 0}.get(kind, 1)


# ---- what it costs -------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "count"), [(Sequential, 5), (NanGuards, 8), (CalledTwice, 3)])
def test_branches_in_a_row_add_up(kind: Any, count: int, tmp_path: Path) -> None:
    onnxpert.export(kind().eval(), (R(DATA[kind][0]),), tmp_path / "m.onnx", verify=False)
    assert sum(node.op_type == "If" for node in nodes(tmp_path / "m.onnx")) == count


def test_what_comes_after_a_branch_is_in_the_file_once(tmp_path: Path) -> None:
    class Long(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*(nn.Linear(3, 3) for _ in range(5)))

        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                x = x + 1
            return self.layers(x)  # type: ignore[no-any-return]

    onnxpert.export(Long().eval(), (R(2, 3),), tmp_path / "m.onnx", verify=False)
    gemms = [node for node in nodes(tmp_path / "m.onnx") if node.op_type in {"Gemm", "MatMul"}]
    assert len(gemms) == 5


def test_a_question_whose_answer_changes_nothing_is_no_branch(tmp_path: Path) -> None:
    class Asks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + len("large" if x.sum() > 0 else "small")

    report = onnxpert.export(Asks(), (R(3),), tmp_path / "m.onnx")
    assert report.ok
    assert all(node.op_type != "If" for node in nodes(tmp_path / "m.onnx"))


# ---- what is said --------------------------------------------------------------------------


def found(model: Any, *args: Any, **options: Any) -> list[str]:
    return [finding.rule for finding in onnxpert.diagnose(model, args, **options).findings]


def test_a_side_that_raises_is_a_condition_of_the_file() -> None:
    class Checks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.min() < 0:
                raise ValueError("negative")
            if not x.sum() < 1e6:
                raise ValueError(f"too large: {x.sum().item():.2f}")
            return x.sqrt()

    report = onnxpert.diagnose(Checks(), (torch.rand(3),))
    assert report.ok
    said = [finding for finding in report.findings if finding.rule == "CTL407"]
    assert [finding.location.line - said[0].location.line for finding in said] == [0, 2]  # type: ignore[union-attr]


def test_a_side_that_nothing_took_is_told() -> None:
    class Even(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2 if (x.diff() == 0.25).all() else x

    assert "CTL409" in found(Even(), R(3))
    assert "CTL409" not in found(Sequential(), R(3))


def test_where_chance_ends_the_proof_no_side_is_said_to_be_untried() -> None:
    class Noisy(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x if x.shape[0] > 16 else -x) + torch.rand_like(x)

    report = onnxpert.diagnose(Noisy(), (R(3),), dynamic_shapes=({0: "n"},))
    assert "NUM702" in str(report)
    assert "CTL409" not in str(report)


class Rare(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if (x == 0.12345).all() else x


class Special(nn.Module):
    """One token beside others, none of which may be larger than the table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 4)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids) * 2 if ids[0] == 17 and ids[1] != 17 else self.table(ids)


class Switched(nn.Module):
    """A switch that no change of all inputs at once throws: the others would be refused."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(8, 4)

    def forward(self, ids: Tensor, switch: Tensor) -> Tensor:
        return self.table(ids) if switch.sum() > 8 else self.table(ids) * 2


_AIMED: dict[str, tuple[nn.Module, tuple[Tensor, ...]]] = {
    "x: values all 0.12345": (Rare(), (R(3),)),
    "ids: values with 17": (Special(), (torch.tensor([3, 4, 5]),)),
    "switch: values all 8": (Switched(), (torch.tensor([3, 4, 5]), torch.tensor([1, 2]))),
}


@pytest.mark.parametrize("case", _AIMED)
def test_a_side_is_opened_by_what_the_model_compares_with(case: str) -> None:
    model, args = _AIMED[case]
    report = onnxpert.diagnose(model.eval(), args)
    assert report.ok, str(report)
    assert "CTL409" not in str(report)
    assert case in {row.case for row in report.verified if row.verdict is Verdict.PASS}


def test_paths_that_multiply_are_told() -> None:
    class Counts(nn.Module):
        """What is in a set, no graph knows."""

        def forward(self, x: Tensor) -> Tensor:
            seen = set()
            for i in range(8):
                if x[i] > 0:
                    seen.add(i)
            return x * len(seen)

    rules = found(Counts(), R(8))
    assert "CTL410" in rules
    assert "CTL401" not in rules  # at the same line


def test_a_buffer_that_a_branch_writes_is_told() -> None:
    class Remembers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                self.mean.mul_(0.9).add_(x, alpha=0.1)
            return x - self.mean

    assert "STA301" in found(Remembers(), torch.ones(3))


# ---- the file against the model ------------------------------------------------------------


def nodes(path: Path) -> list[onnx.NodeProto]:
    def within(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
        for node in graph.node:
            yield node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from within(attribute.g)

    return list(within(onnx.load(path).graph))


def assert_same(model: nn.Module, path: Path, inputs: Sequence[tuple[Tensor, ...]]) -> None:
    session = onnxruntime.InferenceSession(path)
    names = [given.name for given in session.get_inputs()]
    for values in inputs:
        with torch.no_grad():
            want = [leaf for _, leaf in flatten_outputs(model(*(v.clone() for v in values)))]
        feeds = {name: value.numpy() for name, value in zip(names, values, strict=True)}
        for expected, got in zip(want, session.run(None, feeds), strict=True):
            torch.testing.assert_close(
                torch.from_numpy(got.copy()),
                torch.as_tensor(expected),
                rtol=1e-3,
                atol=1e-4,
                equal_nan=True,
                msg=lambda text, values=values: f"{text}\nat {values}",
            )
