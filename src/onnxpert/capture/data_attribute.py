"""`weight.data`, which is no call that is dispatched: read and written where the recorder sees it.

Masked layers write `self.weight.data *= self.mask` before they use it. Left to torch, the result of a
recorded call, which has no values, would become the user's own weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

from onnxpert.core.storages import storage

if TYPE_CHECKING:
    from onnxpert.capture.recorder import Recorder

aten = torch.ops.aten
_READ, _WRITE = torch.Tensor.data.__get__, torch.Tensor.data.__set__  # type: ignore[attr-defined]


class DataAttribute(TorchFunctionMode):
    """While on, the `data` of a tensor of the model's is the recorder's stand-in."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func == _READ and self._recorder.owns(args[0]):
            return aten.alias.default(args[0])
        if func == _WRITE and self._recorder.owns(args[0]) and isinstance(args[1], FakeTensor):
            own = aten.alias.default(args[0])
            if storage(own) != storage(args[1]):
                aten.copy_.default(own, args[1])
            return None
        return func(*args, **(kwargs or {}))
