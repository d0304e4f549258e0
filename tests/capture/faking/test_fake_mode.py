"""Fake tensors remember what calls gave, but for views."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from onnxpert.capture.recorder import new_fake_mode


@pytest.mark.parametrize(
    ("call", "hits"),
    [(lambda x: x.exp(), 1), (lambda x: x[:, 1], 0), (lambda x: x.transpose(0, 1), 0)],
)
def test_a_view_is_worked_out_anew(call: Callable[[Tensor], Tensor], hits: int) -> None:
    mode = new_fake_mode()
    mode.cache_enabled = True
    x = mode.from_tensor(torch.zeros(3, 5, 8))
    before = FakeTensorMode.cache_info()
    with mode:
        first, second = call(x), call(x)
    after = FakeTensorMode.cache_info()
    assert after.hits - before.hits == hits
    assert (first.shape, first.stride()) == (second.shape, second.stride())
