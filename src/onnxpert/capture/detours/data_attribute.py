"""`weight.data`, which is no call that is dispatched: read and written where the recorder sees it.

Masked layers write `self.weight.data *= self.mask` before they use it. Left to torch, the result of a
recorded call, which has no values, would become the user's own weight."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from onnxpert.capture.detour import Call, detour
from onnxpert.core.storages import storage

aten = torch.ops.aten
_DATA: Any = torch.Tensor.data


@detour(_DATA.__get__)
def read(call: Call) -> Any:
    """The `data` of a tensor of the model's is the recorder's stand-in."""
    owner = call.args[0]
    return aten.alias.default(owner) if call.recorder.owns(owner) else NotImplemented


@detour(_DATA.__set__)
def written(call: Call) -> Any:
    owner, value = call.args
    if not call.recorder.owns(owner) or not isinstance(value, FakeTensor):
        return NotImplemented
    own = aten.alias.default(owner)
    if storage(own) != storage(value):
        aten.copy_.default(own, value)
    return None
