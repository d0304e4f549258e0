"""The number of a turn, while a loop is written down."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import constrain_range


class Counter:
    """How many turns a loop has done."""

    def __init__(self) -> None:
        self.value: Any = 0

    def take(self, value: Any) -> None:
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
            with suppress(Exception):  # a symbol that torch knows more of already
                constrain_range(value, min=0, max=None)
        self.value = value
