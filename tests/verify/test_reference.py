"""The user's model is asked no more often than it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from onnxpert.verify.reference import Reference, RefusedError


class Fussy(nn.Module):
    """Takes no more than two rows, and tells who asks."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        super().__init__()
        self.tell = tell

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.tell(len(x))
        if len(x) > 2:
            raise ValueError("too many rows")
        return x + 1


def test_an_input_is_refused_once_by_a_model_that_took_another(load: Any) -> None:
    asked: list[int] = []
    with Reference(load(Fussy(asked.append), x=torch.randn(2, 4)), 0) as reference:
        reference.call((torch.randn(2, 4),))
        with pytest.raises(RefusedError, match="too many rows"):
            reference.call((torch.randn(3, 4),))
    assert asked == [2, 3]


def test_a_model_that_has_taken_nothing_yet_is_asked_as_torch_would_have_it(load: Any) -> None:
    asked: list[int] = []
    with Reference(load(Fussy(asked.append), x=torch.randn(2, 4)), 0) as reference:
        for _ in range(2):
            with pytest.raises(RefusedError, match="too many rows"):
                reference.call((torch.randn(3, 4),))
    assert asked == [3, 3, 3]
