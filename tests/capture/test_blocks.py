"""Loops over the blocks of a size, and sizes of which the example has one block only."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch

import onnxpert

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


@pytest.mark.parametrize("model", [Recurrent(), Side()], ids=lambda model: type(model).__name__)
def test_an_example_of_one_block_stands_for_all_sizes(
    model: torch.nn.Module, tmp_path: Path
) -> None:
    generator = torch.Generator().manual_seed(0)
    path = tmp_path / "m.onnx"
    onnxpert.export(
        model.eval(),
        (torch.rand(2, 3, 2, generator=generator),),
        path,
        dynamic_shapes=({0: "batch", 1: "length"},),
    )
    session = onnxruntime.InferenceSession(path)
    for length in (1, 2, 4, 5, 8, 13, 31):
        x = torch.rand(3, length, 2, generator=generator)
        want = model(x)
        got = session.run(None, {"x": x.numpy()})
        for one, other in zip([want] if isinstance(want, torch.Tensor) else want, got, strict=True):
            torch.testing.assert_close(one, torch.from_numpy(other))
