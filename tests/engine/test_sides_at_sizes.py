"""The side of a branch that the example does not take, at sizes that it does not have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor

import onnxpert
from onnxpert.core.types import Severity


class Blocks(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        total = x * 0
        for start in range(0, x.shape[0], 4):
            total = total + x[start : start + 4].sum()
        return total


class Counts(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return x - sum(1 for _ in range(x.shape[0]))


class Rows(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return torch.cat([row.unsqueeze(0) * index for index, row in enumerate(x)])


class Parts(torch.nn.Module):
    """At the example's size, both sides give the same."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return x * len(list(x.split(3)))


class LastOfPairs(torch.nn.Module):
    """A branch on a size, one side of which goes through the rows."""

    def forward(self, x: Tensor) -> Tensor:
        last = x[0] * 0
        if x.shape[0] > 5:
            for index in range(0, x.shape[0], 2):
                last = last * 0.5 + x[index]
        return x + last


class RowsOnOneWay(torch.nn.Module):
    """Only one side of the inner branch knows how many rows there are."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] % 3 == 1:
            return x + 1 if x.max() > 0 else x - 1
        if x.sum() > 0:
            return x * 2
        return torch.stack([row * (index + 1) for index, row in enumerate(x)]) / x.shape[0]


class Halves(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return torch.cat([part.max() + part for part in x.chunk(2)])


@pytest.mark.parametrize("sign", [1, -1], ids=["other side", "own side"])
@pytest.mark.parametrize("kind", [Blocks, Counts, Rows, Parts, LastOfPairs, RowsOnOneWay, Halves])
def test_it_is_right_there_too(kind: type[torch.nn.Module], sign: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "m.onnx"
    report = onnxpert.export(
        model, (torch.rand(6, 3) * sign,), path, dynamic_shapes={"x": {0: "n"}}
    )
    assert not [each.rule for each in report.findings if each.severity is Severity.WARNING]
    session = ort.InferenceSession(path)
    for size in (1, 2, 5, 7, 9, 20):
        for side in (1, -1):
            x = torch.rand(size, 3) * side
            (got,) = session.run(None, {"x": x.numpy()})
            np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


def test_the_proof_takes_every_side_at_another_size(tmp_path: Path) -> None:
    report = onnxpert.export(
        Counts().eval(), (torch.rand(6, 3),), tmp_path / "m.onnx", dynamic_shapes={"x": {0: "n"}}
    )
    assert {"example, n=19", "values negated, n=19"} <= {row.case for row in report.verified}


def test_a_range_that_only_the_file_has_is_a_warning(tmp_path: Path) -> None:
    """Without its source a model cannot be written as it stands."""
    source = (
        "class Parts(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        if x.sum() > 0:\n"
        "            return x * 2\n"
        "        return x * len(list(x.split(3)))\n"
    )
    names: dict[str, type[torch.nn.Module]] = {}
    exec(source, {"torch": torch, "__name__": "nowhere"}, names)
    report = onnxpert.export(
        names["Parts"]().eval(),
        (torch.rand(6, 3),),
        tmp_path / "m.onnx",
        dynamic_shapes={"x": {0: "n"}},
    )
    told = {each.rule: each for each in report.findings if each.severity is Severity.WARNING}
    assert "the file takes n of at least 4 and at most 6 only" in told["SHP203"].message


class AtMostThree(torch.nn.Module):
    """How often it turns shows at two rows alone, and there on a side that few inputs take."""

    def forward(self, x: Tensor) -> Tensor:
        count = torch.nonzero(x[:, 1] > 0).shape[0]
        mean = x.mean(0)
        if count < x.shape[0]:
            return mean
        for _ in range(min(x.shape[0], 3)):
            mean = mean * -0.3 + 1 if count in (0, 2) else mean
        return mean + count


def test_what_a_side_assumes_of_a_size_is_tried_on_that_side(tmp_path: Path) -> None:
    model, path = AtMostThree().eval(), tmp_path / "m.onnx"
    mixed = torch.tensor([[1.0, -1.0, 2.0], [0.5, 1.0, 1.0]]).repeat(3, 1)
    report = onnxpert.export(model, (mixed[:5],), path, dynamic_shapes={"x": {0: "n"}})
    assert len({(f.rule, f.location.line) for f in report.findings if f.location}) == len(
        report.findings
    )  # what an earlier capture led to say is not said beside it
    session = ort.InferenceSession(path)
    for size in (1, 2, 3, 4, 5):
        for x in (torch.ones(size, 3), -torch.ones(size, 3), mixed[:size]):
            (got,) = session.run(None, {"x": x.numpy()})
            np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


class Windows(torch.nn.Module):
    """Whole windows only, of which a short input has none; one of them is written."""

    def forward(self, x: Tensor) -> Tensor:
        whole = x[:, : x.shape[1] // 4 * 4]
        if whole.shape[1] == 0:
            return x.new_zeros((x.shape[0], 2))
        windows = whole.view(x.shape[0], whole.shape[1] // 4, 4, -1) * 2
        windows[:, 0] += 1
        return windows.sum((1, 2))


@pytest.mark.parametrize("length", [3, 9])
def test_a_side_that_is_empty_at_the_example(length: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Windows().eval(), tmp_path / "m.onnx"
    shapes = {"x": {0: "n", 1: "length"}}
    assert onnxpert.export(model, (torch.rand(2, length, 2),), path, dynamic_shapes=shapes).ok
    session = ort.InferenceSession(path)
    for size in (1, 3, 4, 7, 8, 21):
        x = torch.rand(3, size, 2)
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


class BesideBlocks(torch.nn.Module):
    """A branch on one size, and a loop over the pieces of another."""

    def forward(self, x: Tensor) -> Tensor:
        scaled = x if x.shape[0] // 2 > 4 else x * 2
        pieces = [piece * index for index, piece in enumerate(scaled.split(3, 1))]
        return torch.cat(pieces, 1)


class ManyInAll(torch.nn.Module):
    """A question to which only sizes that are small together have another answer."""

    def forward(self, x: Tensor) -> Tensor:
        return x if len(x.reshape(-1)) > 5 else x * 2


@pytest.mark.parametrize("kind", [BesideBlocks, ManyInAll])
def test_a_branch_on_sizes_beside_others(kind: type[torch.nn.Module], tmp_path: Path) -> None:
    model, path = kind().eval(), tmp_path / "m.onnx"
    shapes = {"x": {0: "a", 1: "b"}}
    onnxpert.export(model, (torch.randn(4, 5, 3),), path, dynamic_shapes=shapes)
    session = ort.InferenceSession(path)
    for rows, columns in ((1, 1), (1, 2), (4, 5), (9, 7), (10, 3), (11, 13)):
        x = torch.randn(rows, columns, 3)
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-5, atol=1e-6)


class RowsAndSteps(torch.nn.Module):
    """Two loops: by the rows of one input, and in steps over the other, which is short."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        rows = [row.sum() for row in x]
        pieces = []
        for start in range(0, y.shape[1], 4):
            pieces.append(y[:, start : start + 4].sum(1))  # noqa: PERF401 (as people write)
        return torch.stack(rows), torch.stack(pieces)


class StepsAndSteps(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        thirds, quarters = [], []
        for start in range(0, x.shape[1], 3):
            thirds.append(x[:, start : start + 3].sum(1))  # noqa: PERF401 (the same)
        for start in range(0, y.shape[1], 4):
            quarters.append(y[:, start : start + 4].sum(1))  # noqa: PERF401 (the same)
        return torch.stack(thirds), torch.stack(quarters)


@pytest.mark.parametrize("lengths", [(9, 2), (3, 2), (4, 9)])
@pytest.mark.parametrize("kind", [RowsAndSteps, StepsAndSteps])
def test_two_loops_over_two_sizes(
    kind: type[torch.nn.Module], lengths: tuple[int, int], tmp_path: Path
) -> None:
    model, path = kind().eval(), tmp_path / "m.onnx"
    shapes = {"x": {0: "a", 1: "b"}, "y": {0: "a", 1: "c"}}
    example = tuple(torch.randn(8, length) for length in lengths)
    onnxpert.export(model, example, path, dynamic_shapes=shapes)
    session = ort.InferenceSession(path)
    for others in ((3, 1), (4, 2), (5, 5), (9, 13), (1, 22)):
        x, y = (torch.randn(3, length) for length in others)
        got = session.run(None, {"x": x.numpy(), "y": y.numpy()})
        for have, want in zip(got, model(x, y), strict=True):
            np.testing.assert_allclose(have, want.numpy(), rtol=1e-5, atol=1e-5)


class CutOnOneSide(torch.nn.Module):
    """What is assumed of two sizes on the side that a third decides."""

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        cut = z[: y.shape[0]] if x.shape[0] > 4 else z
        return cut.unfold(0, 3, 1).sum(1), x + y.sum()


class AllTogether(torch.nn.Module):
    """A result as long as two sizes together, which the runtime has no kernel for."""

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        return torch.nn.functional.adaptive_avg_pool1d(z[None], sum(x.shape)) + x.sum()


@pytest.mark.parametrize(
    ("kind", "sizes"), [(CutOnOneSide, ((3,), (7,), (5,))), (AllTogether, ((4, 6), (5,)))]
)
def test_none_of_it_is_frozen_in_silence(
    kind: type[torch.nn.Module], sizes: tuple[tuple[int, ...], ...], tmp_path: Path
) -> None:
    model, path = kind().eval(), tmp_path / "m.onnx"
    names = iter("abcdef")
    shapes = tuple({axis: next(names) for axis in range(len(shape))} for shape in sizes)
    example = tuple(torch.randn(shape) for shape in sizes)
    try:
        onnxpert.export(model, example, path, dynamic_shapes=shapes)
    except onnxpert.ExportError as error:
        told = [finding for finding in error.report.findings if finding.blocks]
        assert {finding.rule for finding in told} <= {"SHP201", "SHP202"}
        assert all(one.location and one.location.file == __file__ for one in told)
        return
    session = ort.InferenceSession(path)
    for more in range(1, 6):
        inputs = tuple(torch.randn([n + more * (5 - n) for n in shape]) for shape in sizes)
        feeds = {
            given.name: x.numpy() for given, x in zip(session.get_inputs(), inputs, strict=True)
        }
        got, want = session.run(None, feeds), model(*inputs)
        for have, one in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
            np.testing.assert_allclose(have, one.numpy(), rtol=1e-4, atol=1e-5)


class CutToAnother(torch.nn.Module):
    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        return z[: x.shape[0]] * 2 + x.sum()


@pytest.mark.parametrize("lengths", [(3, 7), (7, 3)])
def test_auto_keeps_both_sizes_open(lengths: tuple[int, int], tmp_path: Path) -> None:
    model, path = CutToAnother().eval(), tmp_path / "m.onnx"
    example = tuple(torch.randn(length) for length in lengths)
    onnxpert.export(model, example, path, dynamic_shapes="auto")
    session = ort.InferenceSession(path)
    for others in ((2, 9), (9, 2), (1, 1), (5, 5)):
        x, z = (torch.randn(length) for length in others)
        (got,) = session.run(None, {"x": x.numpy(), "z": z.numpy()})
        np.testing.assert_allclose(got, model(x, z).numpy(), rtol=1e-4, atol=1e-5)


class FewInAll(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * min(x.numel(), 3) + max(x.shape[0] * x.shape[1] - 2, 1)


def test_the_smaller_of_a_product(tmp_path: Path) -> None:
    model, path = FewInAll().eval(), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(4, 5),), path, dynamic_shapes=({0: "a", 1: "b"},))
    session = ort.InferenceSession(path)
    for sizes in ((1, 1), (1, 2), (2, 1), (1, 3), (3, 3), (1, 9)):
        x = torch.randn(sizes)
        (got,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-5)


class Window(torch.nn.Module):
    """At most eight of what was and what is new."""

    def forward(self, new: Tensor, old: Tensor) -> Tensor:
        if old.shape[0] + new.shape[0] > 8:
            old = old[-(8 - new.shape[0]) :] if new.shape[0] < 8 else old[:0]
        return torch.cat([old, new])


def test_a_size_that_would_be_negative_elsewhere_narrows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    shapes = {"new": {0: "n"}, "old": {0: "m"}}
    report = onnxpert.export(
        Window(), (torch.randn(3, 2), torch.randn(5, 2)), path, dynamic_shapes=shapes
    )
    assert [f for f in report.findings if f.severity is not Severity.INFO] == []
    session = ort.InferenceSession(path)
    for new, old in ((1, 1), (3, 9), (7, 4), (8, 2), (12, 12)):
        given = {"new": torch.randn(new, 2), "old": torch.randn(old, 2)}
        (got,) = session.run(None, {name: value.numpy() for name, value in given.items()})
        np.testing.assert_allclose(Window()(**given).numpy(), got)


class Resized(torch.nn.Module):
    """On one side alone the image has sizes that are rounded."""

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        scale = 8 / min(height, width)
        if scale != 1:
            x = torch.nn.functional.interpolate(
                x, size=(round(height * scale), round(width * scale)), mode="bilinear"
            )
        return x * 2


def test_an_image_is_resized_on_one_side() -> None:
    shapes = ({2: "height", 3: "width"},)
    report = onnxpert.diagnose(Resized(), (torch.rand(1, 3, 12, 16),), dynamic_shapes=shapes)
    assert report.ok, str(report)
