"""A variable that is None on one side of a branch and a tensor on the other, and who asks which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Model(nn.Module):
    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.run = forward

    def forward(self, x: Tensor, mask: Tensor) -> Any:
        return self.run(x, mask)


def needed(x: Tensor, mask: Tensor | None) -> Tensor | None:
    if mask is None or mask.ndim != 2:
        return mask
    if x.shape[1] == 1:
        return None
    return mask


def in_blocks(x: Tensor) -> Tensor:
    """What only a loop can say: its last block may be a short one, and each knows the one before."""
    state, out = torch.zeros(x.shape[0], 3), []
    for block in range((x.shape[1] + 3) // 4):
        start = block * 4
        end = min(start + 4, x.shape[1])
        piece = x[:, start:end] + state[:, None]
        state = state + piece.sum(1) * (end - start)
        out.append(piece)
    return torch.cat(out, 1)


def asked(x: Tensor, mask: Tensor) -> Tensor:
    held = needed(x, mask)
    if held is not None:
        x = x * held[:, :, None]
    return in_blocks(x)


def asked_with_more(x: Tensor, mask: Tensor) -> Tensor:
    held = needed(x, mask)
    y = in_blocks(x)
    for _ in range(2):
        if held is not None and x.shape[1] > 5:
            y = y * held[:, :, None]
    return y


def changed_where_it_is(x: Tensor, mask: Tensor) -> Tensor:
    held = needed(x, mask)
    if held is not None:
        held = held * 2 - 1
    y = in_blocks(x)
    return y if held is None else y * held[:, :, None]


def among_others(x: Tensor, mask: Tensor) -> Tensor:
    def both(x: Tensor) -> tuple[Tensor, Tensor | None]:
        if x.shape[1] == 1:
            return x * 3, None
        return x, mask.float()

    y, held = both(x)
    y = in_blocks(y)
    return y + 1 if held is None else y - held[:, :, None]


@pytest.mark.parametrize("run", [asked, asked_with_more, changed_where_it_is, among_others])
def test_what_may_be_none_is_either(run: Callable[..., Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model(run)
    given = (torch.randn(2, 3, 3), torch.tensor([[1, 0, 1], [0, 1, 1]]))
    sizes = {0: "batch", 1: "length"}
    report = onnxpert.export(
        model, given, tmp_path / "m.onnx", dynamic_shapes={"x": sizes, "mask": sizes}
    )
    assert report.ok
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    for length in (1, 2, 4, 5, 6, 9, 13):
        x, mask = torch.randn(3, length, 3), torch.randint(0, 2, (3, length))
        (found,) = session.run(None, {"x": x.numpy(), "mask": mask.numpy()})
        torch.testing.assert_close(torch.tensor(found), model(x, mask))


def test_an_operator_that_takes_none_never_asks(tmp_path: Path) -> None:
    """Then there is no file rather than one that adds what is not there."""

    def bias(x: Tensor) -> Tensor | None:
        return None if x.shape[1] == 1 else x[0, 0] + 1

    def unasked(x: Tensor, mask: Tensor) -> Tensor:
        return nn.functional.linear(in_blocks(x), torch.eye(3), bias(x)) + mask.sum()

    given = (torch.randn(2, 3, 3), torch.tensor([[1, 0, 1], [0, 1, 1]]))
    sizes = {0: "batch", 1: "length"}
    with pytest.raises(onnxpert.ExportError) as raised:
        onnxpert.export(
            Model(unasked), given, tmp_path / "m.onnx", dynamic_shapes={"x": sizes, "mask": sizes}
        )
    assert [finding.rule for finding in raised.value.report.findings if finding.blocks]


def last_of_some(x: Tensor) -> Tensor:
    last, total = None, x[0]
    for row in x[x[:, 0] > 0.5]:
        total = total * 0.5 + row
        last = total
    return total if last is None else total + last


def last_place(x: Tensor) -> Tensor:
    last = None
    for place in torch.nonzero(x[:, 0] > 0.5).flatten():
        last = x[place] * 2
    return x[0] if last is None else last


@pytest.mark.parametrize("run", [last_of_some, last_place])
def test_what_no_turn_has_made_is_none(run: Callable[..., Any], tmp_path: Path) -> None:
    model = Model(lambda x, mask: run(x) + mask)
    path = tmp_path / "m.onnx"
    torch.manual_seed(0)
    onnxpert.export(model, (torch.rand(5, 3), torch.zeros(3)), path)
    session = onnxruntime.InferenceSession(path)
    for low in (-2.0, -0.5, 0.0, 0.5):
        x = torch.rand(5, 3) + low
        (got,) = session.run(None, {"x": x.numpy(), "mask": torch.ones(3).numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x, torch.ones(3)))
