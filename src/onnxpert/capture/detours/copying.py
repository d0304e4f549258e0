"""`copy.deepcopy` of a tensor, which torch makes out of its memory: to a graph it is a clone."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from onnxpert.capture.detour import Call, detour


@detour(torch.Tensor.__deepcopy__)
def cloned(call: Call) -> Any:
    """A deep copy of a tensor of the graph is recorded; the same one twice is one copy."""
    copied, memo = call.args
    if not isinstance(copied, FakeTensor):
        return NotImplemented
    if id(copied) not in memo:
        memo[id(copied)] = copied.clone()
    return memo[id(copied)]
