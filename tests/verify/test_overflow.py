"""Which infinities inside of a model are its range's doing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from onnxpert.verify.overflow import Overflow

FAR = 1e30


@pytest.mark.parametrize(
    ("run", "overflows"),
    [
        (lambda x: x * x, True),
        (lambda x: torch.nn.functional.linear(x, x), True),
        (lambda x: x.exp() - 1, True),
        (lambda x: x.masked_fill(x > 0, -torch.inf).softmax(-1) + 1, False),
        (lambda x: x + torch.where(x > 0, -torch.inf, 0.0), False),
        (lambda x: (x - x).log() + 1, False),
        (lambda x: 1 / (x - x), False),
        (lambda x: x + float("nan"), False),
    ],
)
def test_what_left_the_range(run: Callable[[Tensor], Tensor], *, overflows: bool) -> None:
    with Overflow() as watch:
        run(torch.full((2, 2), FAR))
    assert bool(watch.calls) is overflows
