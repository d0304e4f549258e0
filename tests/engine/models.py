"""Models that several tests are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class Model(nn.Module):
    """One function of a tensor."""

    def __init__(self, forward: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.run = forward

    def forward(self, x: Tensor) -> Any:
        return self.run(x)
