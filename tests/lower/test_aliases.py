"""Random programs of views and writes: in the end every view shows what torch's shows."""

from __future__ import annotations

import random

import pytest
import torch

from tests.lower.same import assert_same

_VIEWS = [
    lambda x: x.view(-1),
    lambda x: x.reshape(-1),
    lambda x: x.transpose(0, -1),
    lambda x: x[0],
    lambda x: x[-1],
    lambda x: x[1:],
    lambda x: x[::2],
    lambda x: x[..., 1::2],
    lambda x: x.unsqueeze(0),
    lambda x: x.squeeze(),
    lambda x: x.diagonal(),
    lambda x: x.diagonal(1, -1, 0),
    lambda x: x.chunk(2)[1],
    lambda x: x.unbind(-1)[0],
    lambda x: x.split(2, dim=-1)[-1],
    lambda x: torch.tensor_split(x, (1,))[0],
    lambda x: x.narrow(0, 1, 1),
    lambda x: x.unfold(0, 2, 2),
    lambda x: x.movedim(0, -1),
    lambda x: x.flatten(0, 1),
    lambda x: x.detach(),
]
_WRITES = [
    lambda x: x.add_(0.5),
    lambda x: x.mul_(2),
    lambda x: x.fill_(-1.5),
    lambda x: x.zero_(),
    lambda x: x.copy_(x.flip(0) * 1),
    lambda x: x.clamp_(-0.5, 0.5),
    lambda x: x.masked_fill_(x > 0, 3),
    lambda x: x.index_put_((x > 0,), torch.tensor(-2.0)),
    lambda x: x.sub_(x.sum()),
    lambda x: torch.mul(x.clone(), 3, out=x),
    lambda x: x.index_fill_(0, torch.tensor([0]), 7),
    lambda x: x.unsqueeze_(0),
    lambda x: x.relu_(),
]


def _program(seed):
    """Steps (is it a view, of which tensor, which one), tried out so that each of them runs."""
    pick = random.Random(seed)
    tensors, steps = [torch.randn(4, 6)], []
    while len(steps) < 8:
        is_view, index = pick.random() < 0.5, pick.randrange(len(tensors))
        call = pick.choice(_VIEWS if is_view else _WRITES)
        try:
            result = call(tensors[index])
        except (RuntimeError, IndexError):
            continue
        if is_view and result.numel():
            tensors.append(result)
        if result.numel():
            steps.append((is_view, index, call))
    return steps


@pytest.mark.parametrize("seed", range(25))
def test_programs(seed):
    steps = _program(seed)

    def call(x):
        tensors, read = [x.clone()], []
        for is_view, index, step in steps:
            read.append(tensors[index] * 1)
            result = step(tensors[index])
            if is_view:
                tensors.append(result)
        return tensors, read

    assert_same(call, torch.randn(4, 6))
