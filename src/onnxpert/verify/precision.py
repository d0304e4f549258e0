"""The coarsest number format a model computes in, and how much it computes, seen by watching it run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.core.effort import Effort
from onnxpert.core.number_formats import formats
from onnxpert.core.tolerance import tolerance


class Watch(TorchFunctionMode):
    """Notes the floating dtypes of all results. The dtype of the final output does not tell: that
    of a bfloat16 model, or of a region under autocast, is often float32."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[torch.dtype] = set()
        self.effort = Effort()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.seen.update(formats(func, result))
        self.effort.note((args, tuple((kwargs or {}).values())), result)
        return result


def coarsest(dtypes: Iterable[torch.dtype]) -> str:
    """The name of the dtype with the fewest digits, or "" when there is none."""
    names = {str(dtype).removeprefix("torch.") for dtype in dtypes if dtype.is_floating_point}
    return max(sorted(names), key=lambda name: tolerance(name)[0], default="")
