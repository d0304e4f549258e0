"""How a kernel is noted: a table by the overloads that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.nn import functional as F

Kernel: TypeAlias = Callable[..., Any]


def into(table: dict[Any, Kernel]) -> Callable[..., Callable[[Kernel], Kernel]]:
    """A decorator that notes a function under the overloads it is given."""

    def kernel(*overloads: Any) -> Callable[[Kernel], Kernel]:
        def note(function: Kernel) -> Kernel:
            table.update(dict.fromkeys(overloads, function))
            return function

        return note

    return kernel


def unchanged(x: torch.Tensor) -> torch.Tensor:
    return x


# What a fused kernel does to its result, by the end of its name.
AFTER: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"": unchanged, "_relu": F.relu}
