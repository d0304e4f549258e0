"""A call made again on operands of the same look gives what torch would give."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from onnxpert.capture.faking.outcomes import Outcomes
from onnxpert.capture.recorder import new_fake_mode

aten = torch.ops.aten


def _fakes(*tensors: Tensor) -> tuple[Any, list[Any]]:
    mode = new_fake_mode()
    return mode, [mode.from_tensor(tensor) for tensor in tensors]


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.transpose(0, 1), lambda x: x[..., ::2]])
def test_rows_that_lie_elsewhere_have_the_same_outcome(turn: Any) -> None:
    mode, (x,) = _fakes(torch.zeros(3, 5, 8))
    outcomes = Outcomes()
    with mode:
        first, second = turn(x)[:, 1], turn(x)[:, 2]
        key = outcomes.key(aten.mul.Tensor, (first, first), {})
        assert outcomes.again(key) is NotImplemented
        outcomes.keep(key, first * first)
        assert outcomes.key(aten.mul.Tensor, (second, second), {}) == key
        made, want = outcomes.again(key), second * second
    assert (made.shape, made.stride(), made.dtype) == (want.shape, want.stride(), want.dtype)


def test_what_depends_on_more_than_looks_is_not_kept() -> None:
    mode, (x, number) = _fakes(torch.zeros(3, 5), torch.tensor(2.0))
    outcomes = Outcomes()
    with mode:
        assert outcomes.key(aten.mul.Tensor, (x, number), {}) is None
        assert outcomes.key(aten.add_.Tensor, (x, x), {}) is None
        assert outcomes.key(aten.mm.default, (x, x), {}) is None
        assert outcomes.key(aten.add.Tensor, (x, x), {"alpha": 2}) is None
        half = outcomes.key(aten.add.Tensor, (x.half(), 1), {})
    assert half != outcomes.key(aten.add.Tensor, (x, 1), {})
