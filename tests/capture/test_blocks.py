"""Loops over the blocks of a size, and sizes of which the example has one block only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

import onnxpert
from onnxpert.capture.strategies import recorded

BLOCK = 4


def _in_blocks(x: torch.Tensor) -> torch.Tensor:
    batch, length, width = x.shape
    missing = (BLOCK - length % BLOCK) % BLOCK
    padded = torch.nn.functional.pad(x, (0, 0, 0, missing))
    return padded.reshape(batch, -1, BLOCK, width)


class Recurrent(torch.nn.Module):
    """What a block hands to the next, one block after the other."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        blocks = _in_blocks(x)
        state = x.new_zeros(x.shape[0], x.shape[2], x.shape[2])
        out = torch.zeros_like(blocks)
        padded = x.shape[1] + (BLOCK - x.shape[1] % BLOCK) % BLOCK
        for turn in range(padded // BLOCK):
            block = blocks[:, turn]
            out[:, turn] = block @ state
            state = state * 0.5 + block.transpose(-1, -2) @ block
        return out.flatten(1, 2)[:, : x.shape[1]], state


class Side(torch.nn.Module):
    """All blocks at once: one alone looks to torch like a size of one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        blocks = _in_blocks(x).transpose(1, 2).contiguous()
        return (blocks * blocks.cumsum(2)).transpose(1, 2).flatten(1, 2)[:, : x.shape[1]]


class Written(torch.nn.Module):
    """That there is one block is asked in three ways: of the blocks, and of all that is in them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        blocks = _in_blocks(x)
        out, state = torch.zeros_like(blocks), torch.zeros(x.shape[0], BLOCK, 2)
        for turn in range(blocks.shape[1]):
            out[:, turn] = blocks[:, turn] + state
            state = state * 0.5 + blocks[:, turn]
        return out.reshape(x.shape[0], -1, 2)[:, : x.shape[1]]


class Shifted(torch.nn.Module):
    """The first of the blocks, of which there is one however many there are."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        blocks = _in_blocks(x)
        before = torch.cat([torch.zeros_like(blocks[:, :1]), blocks], 1).cumsum(1)
        return (blocks * before[:, :-1]).flatten(1, 2)[:, : x.shape[1]]


@pytest.mark.parametrize(
    "model", [Recurrent(), Side(), Written(), Shifted()], ids=lambda model: type(model).__name__
)
def test_an_example_of_one_block_stands_for_all_sizes(
    model: torch.nn.Module, tmp_path: Path
) -> None:
    generator = torch.Generator().manual_seed(0)
    path = tmp_path / "m.onnx"
    report = onnxpert.export(
        model.eval(),
        (torch.rand(2, 3, 2, generator=generator),),
        path,
        dynamic_shapes=({0: "batch", 1: "length"},),
    )
    assert "SHP203" not in {finding.rule for finding in report.findings}
    session = onnxruntime.InferenceSession(path)
    for length in (1, 2, 4, 5, 8, 13, 31):
        x = torch.rand(3, length, 2, generator=generator)
        want = model(x)
        got = session.run(None, {"x": x.numpy()})
        for one, other in zip([want] if isinstance(want, torch.Tensor) else want, got, strict=True):
            torch.testing.assert_close(one, torch.from_numpy(other))


@pytest.mark.parametrize("model", [Recurrent(), Written()], ids=lambda model: type(model).__name__)
def test_an_example_of_one_block_is_written_down_where_there_are_several(
    model: torch.nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run tells what there is to turn, another writes it down; three more would tell it by numbers."""

    def record(*args: Any) -> Any:
        runs.append(args)
        return plain(*args)

    runs: list[Any] = []
    plain = recorded.record
    monkeypatch.setattr(recorded, "record", record)
    shapes = ({0: "batch", 1: "length"},)
    assert onnxpert.export(
        model.eval(), (torch.rand(2, 3, 2),), tmp_path / "m.onnx", dynamic_shapes=shapes
    ).ok
    assert len(runs) <= 3


class Windows(torch.nn.Module):
    """A loop in steps of which the example has one turn; both inputs are cut as it says."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        ends = [(start, min(length, start + BLOCK)) for start in range(0, length, BLOCK)]
        parts = []
        for start, end in ends:
            block = x[:, start:end]
            scores = block @ block.transpose(1, 2) + mask[:, None, start:end]
            parts.append(scores.softmax(-1) @ block)
        return torch.cat(parts, 1)


class Picked(torch.nn.Module):
    """Rows taken one by one; the other input has as many, which no run says in so many words."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 9, 4))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        table = self.table.expand(x.shape[0], -1, -1)
        rows = [table[row].index_select(0, x[row]).unsqueeze(0) for row in range(x.shape[0])]
        return torch.cat(rows) * mask.unsqueeze(-1)


def _inputs(model: torch.nn.Module, batch: int, length: int) -> tuple[torch.Tensor, ...]:
    mask = torch.rand(batch, length)
    if isinstance(model, Picked):
        return torch.randint(0, 9, (batch, length)), mask
    return torch.rand(batch, length, 2), mask


@pytest.mark.parametrize("model", [Windows(), Picked()], ids=lambda model: type(model).__name__)
def test_inputs_that_are_as_long_as_each_other(model: torch.nn.Module, tmp_path: Path) -> None:
    torch.manual_seed(0)
    vary = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    path = tmp_path / "m.onnx"
    onnxpert.export(model.eval(), _inputs(model, 2, 3), path, dynamic_shapes=(vary, vary))
    session = onnxruntime.InferenceSession(path)
    for batch, length in ((1, 1), (3, 4), (2, 5), (5, 8), (2, 13)):
        given = _inputs(model, batch, length)
        fed = {name: value.numpy() for name, value in zip(("x", "mask"), given, strict=True)}
        (got,) = session.run(None, fed)
        torch.testing.assert_close(model(*given), torch.from_numpy(got))
