"""Numbers made of sizes, given to an operator of the user's: `scale(x, 1 / x.shape[1])` stays open.

torch takes the arguments of an operator apart before anybody sees the call, and what its schema calls
a float becomes one. A call of a user's operator goes to the recorder as it is written instead.
Private torch APIs used here were tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily

from onnxpert.core.bodies import is_custom


@contextmanager
def open_numbers() -> Iterator[None]:
    """While on, operators of the user's take numbers that are not known yet."""
    one, several = OpOverload.__call__, OpOverloadPacket.__call__

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        mode = _get_current_dispatch_mode()
        # Whoever listens before the recorder does passes it on; torch's own mode takes numbers only.
        if mode is None or isinstance(mode, FakeTensorMode) or not _is_open(args, kwargs):
            return one(self, *args, **kwargs)
        if not is_custom(self):
            return one(self, *args, **kwargs)
        with _pop_mode_temporarily() as heard:
            return heard.__torch_dispatch__(self, (), args, kwargs)

    def choose(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if _is_open(args, kwargs) and len(self.overloads()) == 1:
            return call(getattr(self, self.overloads()[0]), *args, **kwargs)
        return several(self, *args, **kwargs)

    plain = torch.fake_quantize_per_tensor_affine

    def quantise(x: Any, scale: Any, zero_point: Any, *bounds: Any, **named: Any) -> Any:
        if isinstance(scale, torch.SymFloat):  # a step that the data decide, which may be a tensor
            scale = torch.scalar_tensor(scale)  # type: ignore[arg-type]
            zero_point = torch.scalar_tensor(zero_point, dtype=torch.int32)
        return plain(x, scale, zero_point, *bounds, **named)

    OpOverload.__call__ = call  # type: ignore[method-assign]
    OpOverloadPacket.__call__ = choose  # type: ignore[method-assign]
    try:
        with patch.object(torch, "fake_quantize_per_tensor_affine", quantise):
            yield
    finally:
        OpOverload.__call__ = one  # type: ignore[method-assign]
        OpOverloadPacket.__call__ = several  # type: ignore[method-assign]


def _is_open(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(type(value) is torch.SymFloat for value in (*args, *kwargs.values()))
