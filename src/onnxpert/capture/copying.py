"""`copy.deepcopy` of a tensor, which torch makes out of its memory: to a graph it is a clone."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode


class Cloned(TorchFunctionMode):
    """While on, a deep copy of a tensor of the graph is recorded; the same one twice is one copy."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch.Tensor.__deepcopy__ or not isinstance(args[0], FakeTensor):
            return func(*args, **(kwargs or {}))
        copied, memo = args
        if id(copied) not in memo:
            memo[id(copied)] = copied.clone()
        return memo[id(copied)]
