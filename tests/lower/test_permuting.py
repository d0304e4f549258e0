"""Orders of dimensions and of elements."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

X = torch.randn(2, 3, 4)
OTHERS = [(torch.randn(5, 1, 2),), (torch.randn(1, 6, 1),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.permute(2, 0, 1),
        lambda x: x.permute(0, -1, 1),
        lambda x: x.permute(0, 1, 2),
        lambda x: x.transpose(0, 2),
        lambda x: x.transpose(-1, -2),
        lambda x: x.transpose(1, 1),
        lambda x: x.swapaxes(0, 1),
        lambda x: x.swapdims(0, 1),
        lambda x: x.mT,
        lambda x: x.mH,
        lambda x: x.adjoint(),
        lambda x: x[0].t(),
        lambda x: x[0].T,
        lambda x: x[0].H,
        lambda x: x[0, 0].t(),
        lambda x: x.permute(*range(2, -1, -1)),
        lambda x: x.movedim(0, 2),
        lambda x: x.movedim((0, 1), (-1, 0)),
        lambda x: x.moveaxis(-1, 0),
        lambda x: x.flip(0),
        lambda x: x.flip((1, -1)),
        lambda x: x.flip(()),
        torch.fliplr,
        torch.flipud,
        torch.rot90,
        lambda x: torch.rot90(x, 2, (1, 2)),
        lambda x: torch.rot90(x, -1, (0, 2)),
        lambda x: torch.rot90(x, 4),
        lambda x: x.roll(1),
        lambda x: x.roll(1, 0),
        lambda x: x.roll(-3, -1),
        lambda x: x.roll(5, 1),
        lambda x: x.roll((1, -1), (0, 1)),
        lambda x: x.roll((2, 1), (1, 1)),
        lambda x: x.roll(0, 0),
    ],
)
def test_orders(call):
    assert_same(call, X, dynamic="auto", others=OTHERS)


def test_nothing_is_rolled():
    half, dynamic = torch.randn(2, 6), ({1: "width"},)
    others = [(torch.randn(2, width),) for width in (1, 5)]
    assert_same(lambda x: x[:, : x.shape[1] // 2].roll(2, 1), half, dynamic=dynamic, others=others)


def test_two_transposes_are_one_or_none():
    result = assert_same(lambda x: x.transpose(0, 1).transpose(0, 1) + 1, X)
    used = [n for n in result.model.graph if n.op_type == "Transpose" and n.outputs[0].uses()]
    assert not used
    result = assert_same(lambda x: x.permute(1, 2, 0).permute(1, 2, 0) + 1, X)
    used = [n for n in result.model.graph if n.op_type == "Transpose" and n.outputs[0].uses()]
    assert len(used) == 1


def test_scalars():
    calls = (
        lambda x: x.permute(()),
        lambda x: x.t(),
        lambda x: x.transpose(0, -1),
        lambda x: x.flip(()),
    )
    for call in calls:
        assert_same(lambda x, call=call: call(x) + 1, torch.tensor(2.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8])
def test_pixel_shuffle(dtype):
    x = torch.arange(2 * 8 * 3 * 2).reshape(2, 8, 3, 2).to(dtype)
    other = torch.arange(8 * 5).reshape(1, 8, 5, 1).to(dtype)
    dynamic = ({0: "batch", 2: "height", 3: "width"},)
    assert_same(lambda x: F.pixel_shuffle(x, 2), x, dynamic=dynamic, others=[(other,)])


def test_pixel_shuffle_without_batch_or_with_two():
    assert_same(lambda x: F.pixel_shuffle(x, 2), torch.randn(8, 3, 2))
    assert_same(lambda x: F.pixel_shuffle(x, 2), torch.randn(2, 2, 8, 3, 2))


def test_pixel_unshuffle():
    dynamic = ({0: "batch", 2: "height"},)
    x, other = torch.randn(2, 3, 4, 6), torch.randn(1, 3, 8, 6)
    assert_same(lambda x: F.pixel_unshuffle(x, 2), x, dynamic=dynamic, others=[(other,)])
    assert_same(lambda x: F.pixel_unshuffle(x, 2), torch.randn(3, 4, 6))


def test_channel_shuffle():
    dynamic = ({0: "batch", 2: "height"},)
    x, other = torch.randn(2, 6, 4, 5), torch.randn(1, 6, 8, 5)
    assert_same(lambda x: F.channel_shuffle(x, 3), x, dynamic=dynamic, others=[(other,)])
