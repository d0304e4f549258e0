"""What a library assumes of sizes: where the proof finds that it does not hold, both sides are in the file."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert
import onnxpert.capture
from onnxpert.capture.forking.size_choice import Axis, Choice
from onnxpert.capture.strategies import recorded
from onnxpert.core.types import DimSpec, Loaded, replace

LIBRARY = """
import torch

def padded(mask, length):
    if (missing := length - mask.shape[-1]) > 0:
        mask = torch.nn.functional.pad(mask, (0, missing))
    return mask

def positions(table, length):
    if length > table.shape[0]:
        table = torch.arange(length, dtype=table.dtype)
    return table[:length]

def cropped(x, mask):
    if x.shape[1] > 6:
        x, mask = x[:, :6], mask[:, :6]
    return (x * mask).cumsum(1)

def in_step(x, mask):
    frames = x.shape[1] // 8
    if frames // 50 != (frames + 20) // 50:
        return x + mask
    return x * mask

def framed(x, mask):
    coarse = pooled(torch.nn.functional.pad(x, (1, 1)))
    if x.shape[1] // 4 != coarse.shape[1]:
        x = torch.nn.functional.pad(x, (1, 2))
    return torch.cat([pooled(x), coarse]) + mask.sum()

def pooled(x):
    return torch.nn.functional.max_pool1d(x[:, None], 4)[:, 0]

def halves(x, mask):
    if x.shape[1] % 8 > 0:
        return x.sum(1, keepdim=True) * mask
    return torch.ones(x.shape[0], 2 * (x.shape[1] // 8) - 1).cumsum(1) + x[:, :1]

def strided(x, mask):
    if x.shape[1] % 8 > 0:
        return x.sum(1, keepdim=True) * mask
    blocks = x.view(x.shape[0], x.shape[1] // 8, 8).transpose(0, 1)
    first, second, last = blocks.stride()
    size = (2 * blocks.shape[0] - 1, blocks.shape[1], 8)
    return blocks.as_strided(size, (first // 2, second, last)).sum((0, 2))[:, None]

def summed(x, mask):
    blocks = x.shape[1] // 8
    if blocks > 0:
        sums = x[:, : blocks * 8].reshape(x.shape[0], blocks, 8).sum(2)
        x, mask = torch.cat([x, sums], 1), torch.cat([mask, torch.ones_like(sums)], 1)
    return (x[None] + mask[:, None]).cumsum(2)

def clipped(x, mask):
    if x.shape[1] > 20:
        x = x.clamp(max=1000.0)
    return (x * mask).cumsum(1)

def shifted(x, mask):
    shift = 0 if min(x.shape) <= 4 else 2
    if min(x.shape) < 4:
        raise ValueError("smaller than a window")
    return torch.roll(x, shift, 1) * mask
"""


@pytest.fixture
def library(tmp_path: Path) -> ModuleType:
    """A module that counts as somebody else's: it lies where packages are installed."""
    file = tmp_path / "site-packages" / "shelf.py"
    file.parent.mkdir()
    file.write_text(LIBRARY)
    spec = importlib.util.spec_from_file_location("shelf", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agrees(model: nn.Module, path: Path, *cases: tuple[torch.Tensor, ...]) -> None:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    for case in cases:
        got = session.run(None, {n: each.numpy() for n, each in zip(names, case, strict=True)})[0]
        np.testing.assert_allclose(model(*case).detach().numpy(), got, rtol=1e-5, atol=1e-6)


def test_a_library_that_pads_what_is_too_short(library: ModuleType, tmp_path: Path) -> None:
    class Masked(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return x * library.padded(mask, x.shape[1])[:, : x.shape[1]]

    model, path = Masked().eval(), tmp_path / "masked.onnx"
    shapes = {"x": {1: "length"}, "mask": {1: "known"}}
    example = (torch.randn(2, 5), torch.ones(2, 5))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    longer, shorter = torch.randn(2, 9), torch.randn(2, 3)
    agrees(model, path, (longer, torch.ones(2, 4)), (shorter, torch.ones(2, 6)))


def test_a_side_that_the_values_of_a_proof_do_not_tell_from_the_other(
    library: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model goes on beyond the limit, where the file of the one side happens to be right."""

    class Clipped(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return library.clipped(x, mask)

    monkeypatch.setattr(recorded, "written", lambda *_: None)
    model, path = Clipped().eval(), tmp_path / "clipped.onnx"
    shapes = {"x": {1: "length"}, "mask": {1: "length"}}
    example = (torch.randn(2, 5), torch.ones(2, 5))
    report = onnxpert.export(model, example, path, dynamic_shapes=shapes)
    assert not [finding for finding in report.findings if finding.rule == "SHP203"]
    cases = ((torch.full((2, n), 5000.0), torch.ones(2, n)) for n in (20, 21, 40))
    agrees(model, path, *cases)


def test_what_only_holds_far_from_the_example(library: ModuleType, tmp_path: Path) -> None:
    class InStep(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return library.in_step(x, mask)

    model, path = InStep().eval(), tmp_path / "in_step.onnx"
    shapes = {"x": {1: "length"}, "mask": {1: "length"}}
    example = (torch.randn(2, 830), torch.full((2, 830), 3.0))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    sizes = (239, 240, 399, 400, 639, 640, 830, 1040, 1199)
    agrees(model, path, *((torch.randn(2, n), torch.full((2, n), 3.0)) for n in sizes))


def test_one_question_that_another_hangs_on(library: ModuleType, tmp_path: Path) -> None:
    """That the lengths agree holds on the side that was taken, and not at the sizes of the other."""

    class Framed(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return library.framed(x, mask)

    model, path = Framed().eval(), tmp_path / "framed.onnx"
    example = (torch.randn(2, 10), torch.ones(2))
    shapes = {"x": {1: "length"}, "mask": None}
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    agrees(model, path, *((torch.randn(2, n), torch.ones(2)) for n in (8, 9, 10, 11, 12, 13, 33)))


def test_the_other_side_is_looked_for_nearby(library: ModuleType, tmp_path: Path) -> None:
    """Of two sizes, either may be moved, and far from the example the model takes neither."""

    class Shifted(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return library.shifted(x, mask)

    model, path = Shifted().eval(), tmp_path / "shifted.onnx"
    shapes = {"x": {0: "height", 1: "width"}, "mask": None}
    example = (torch.randn(32, 33), torch.ones(1))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    sizes = ((4, 9), (9, 4), (5, 5), (4, 4), (33, 5))
    agrees(model, path, *((torch.randn(size), torch.ones(1)) for size in sizes))


@pytest.mark.parametrize("side", ["halves", "strided"])
def test_a_size_that_would_be_negative_at_the_example(
    library: ModuleType, tmp_path: Path, side: str
) -> None:
    class Halves(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return getattr(library, side)(x, mask)

    model, path = Halves().eval(), tmp_path / "halves.onnx"
    shapes = {"x": {1: "length"}, "mask": None}
    assert onnxpert.export(
        model, (torch.randn(2, 5), torch.ones(1)), path, dynamic_shapes=shapes
    ).ok
    agrees(model, path, *((torch.randn(2, n), torch.ones(1)) for n in (1, 5, 8, 9, 24)))


def test_a_table_that_a_library_extends(library: ModuleType, tmp_path: Path) -> None:
    class Placed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.arange(16.0))

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return (x + library.positions(self.table, x.shape[1])) * mask

    model, path = Placed().eval(), tmp_path / "placed.onnx"
    # Two lengths that only the model knows to be one: both sides have to be tried with both moved.
    any_size = torch.export.Dim.DYNAMIC
    shapes = {"x": {1: any_size}, "mask": {1: any_size}}
    example = (torch.randn(2, 5), torch.ones(2, 5))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    agrees(model, path, *((torch.randn(2, n), torch.ones(2, n)) for n in (1, 16, 17, 40)))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Loaded]:
    """The models that were captured, one after the other."""
    found: list[Loaded] = []

    def capture(loaded: Loaded) -> Any:
        found.append(loaded)
        return onnxpert.capture.capture(loaded)

    monkeypatch.setattr("onnxpert.engine.pipeline.capture", capture)
    return found


def test_what_is_one_size_stays_one_when_it_is_asked_about(
    library: ModuleType, tmp_path: Path, looks: list[Loaded]
) -> None:
    class Cropped(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return library.cropped(x, mask)

    model, path = Cropped().eval(), tmp_path / "cropped.onnx"
    any_size = torch.export.Dim.DYNAMIC
    shapes = {"x": {1: any_size}, "mask": {1: any_size}}
    example = (torch.randn(2, 4), torch.ones(2, 4))
    report = onnxpert.export(model, example, path, dynamic_shapes=shapes)
    assert report.ok
    assert len(looks) <= 3
    agrees(model, path, *((torch.randn(2, n), torch.ones(2, n)) for n in (1, 6, 7, 40)))


def test_what_is_equal_in_other_words_on_another_side_stays_one_size(
    library: ModuleType, tmp_path: Path, looks: list[Loaded]
) -> None:
    class Summed(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return library.summed(x, mask)

    model, path = Summed().eval(), tmp_path / "summed.onnx"
    any_size = torch.export.Dim.DYNAMIC
    shapes = {"x": {1: any_size}, "mask": {1: any_size}}
    example = (torch.randn(2, 4), torch.ones(2, 4))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    assert len(looks) == 2
    agrees(model, path, *((torch.randn(2, n), torch.ones(2, n)) for n in (1, 7, 8, 15, 40)))


def test_a_right_file_is_kept_where_looking_for_more_sizes_fails(
    library: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond a few columns the file is right and does not promise it: then more is asked."""

    class Placed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.few, self.many = nn.Buffer(torch.arange(16.0)), nn.Buffer(torch.arange(24.0))

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            first = library.positions(self.few, x.shape[1])[:1]
            places = library.positions(self.many, mask.shape[1])
            return x.mean(1, keepdim=True) + first + mask * places

    def capture(loaded: Loaded) -> Any:
        """As if nobody could follow them."""
        asked_again.append(loaded.as_written or len(loaded.doubted) > 1)
        if not asked_again[-1]:
            return onnxpert.capture.capture(loaded)
        unseen = replace(loaded, as_written=False, doubted=frozenset())
        return replace(onnxpert.capture.capture(unseen), loaded=loaded, left_open=False)

    asked_again: list[bool] = []
    monkeypatch.setattr("onnxpert.engine.pipeline.capture", capture)
    model, path = Placed().eval(), tmp_path / "placed.onnx"
    shapes = {"x": {1: "columns"}, "mask": {1: "length"}}
    example = (torch.randn(2, 5), torch.ones(2, 7))
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    assert any(asked_again)
    agrees(model, path, *((torch.randn(2, 9), torch.ones(2, n)) for n in (1, 24, 25, 60)))


def test_what_its_lines_do_not_tell_is_not_captured_again(
    library: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[Loaded]
) -> None:
    """A loop over rows, told by a few of them, and a limit of their length beyond which the file is right
    too: nobody can ask more of it."""

    class Turning(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            state, found = x[0] * 0, []
            for row in range(x.shape[0]):
                state = torch.tanh(state + x[row])
                found.append(state)
            return library.clipped(torch.stack(found), mask)

    monkeypatch.setattr(recorded, "written", lambda *_: None)
    model, path = Turning().eval(), tmp_path / "turning.onnx"
    shapes = {"x": {0: "rows", 1: "length"}, "mask": {0: "rows", 1: "length"}}
    example = (torch.randn(3, 5), torch.ones(3, 5))
    report = onnxpert.export(model, example, path, dynamic_shapes=shapes)
    assert [finding.rule for finding in report.findings if finding.rule == "SHP203"]
    assert [look.as_written for look in looks] == [False]
    agrees(model, path, *((torch.randn(m, n), torch.ones(m, n)) for m in (1, 4) for n in (1, 20)))


def test_how_often_a_loop_turns_is_read_off_its_lines_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[Loaded]
) -> None:
    """The last block is a shorter one: three, four and six of them are no pattern."""

    class Blocked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.rate = nn.Buffer(torch.rand(8, 1)), nn.Parameter(torch.rand(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            length, state, found = x.shape[1], torch.zeros(len(x), 1, 3), []
            for turn in range((length + 7) // 8):
                start = turn * 8
                here = min(start + 8, length) - start
                part = x[:, start : start + here]
                found.append(part * self.table[-here:] + state)
                state = state * torch.exp(-self.rate * here) + part.sum(1, keepdim=True)
            return torch.cat(found, 1)

    def record(*args: Any) -> Any:
        runs.append(args)
        return plain(*args)

    runs: list[Any] = []
    plain = recorded.record
    monkeypatch.setattr(recorded, "record", record)
    model, path = Blocked().eval(), tmp_path / "blocked.onnx"
    shapes = {"x": {0: "batch", 1: "length"}}
    assert onnxpert.export(model, (torch.randn(2, 5, 3),), path, dynamic_shapes=shapes).ok
    assert [look.as_written for look in looks] == [False]
    assert len(runs) <= 4
    agrees(model, path, *((torch.randn(3, n, 3),) for n in (1, 7, 8, 9, 16, 37)))


def test_sizes_that_are_assumed_equal_move_together() -> None:
    import sympy

    one, other = sympy.Symbol("s1", integer=True), sympy.Symbol("s2", integer=True)
    axes = [Axis(0, 1, "0.1", DimSpec()), Axis(1, 1, "1.1", DimSpec())]
    choice = Choice(axes, {(0, 1): one, (1, 1): other})
    now = {(0, 1): 5, (1, 1): 5}
    found = choice.sizes(now, [(one > 16, True)], [(sympy.Eq(one, other), True)])
    assert found is not None
    assert found[0, 1] == found[1, 1] > 16
