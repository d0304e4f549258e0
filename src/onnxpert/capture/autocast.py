"""Operators that compute in half precision under autocast because of what is inside of them.

Autocast knows products by name. An operator that is made of products it lets pass, and casts what
these are given when it falls apart: recorded whole, it would compute in float32 where the model does
not. Below autocast nobody can tell whether it is on, so it is asked for where Python calls torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

if TYPE_CHECKING:
    from onnxpert.capture.recorder import Recorder

aten = torch.ops.aten
Tensor = torch.Tensor
_MADE_OF_PRODUCTS = frozenset({
    aten.chain_matmul, aten.corrcoef, aten.cov, aten.einsum, aten.gru_cell,
    aten.inner, aten.linalg_matmul, aten.linalg_matrix_power, aten.linalg_multi_dot,
    aten.linalg_pinv, aten.lstm_cell, aten.matrix_power, aten.rnn_relu_cell, aten.rnn_tanh_cell,
    aten.tensordot,
})  # fmt: skip
_RECURRENT = frozenset({aten.gru, aten.lstm, aten.rnn_relu, aten.rnn_tanh})


class Autocast(TorchFunctionMode):
    """Knows what autocast is set to while a model is recorded, and what to do about it."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._dtype: torch.dtype | None = None  # None: it is off

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        enabled = torch.is_autocast_enabled("cpu")
        self._dtype = torch.get_autocast_dtype("cpu") if enabled else None
        return func(*args, **(kwargs or {}))

    def takes(self, func: Any) -> bool:
        packet = func.overloadpacket
        return self._dtype is not None and (packet in _RECURRENT or packet in _MADE_OF_PRODUCTS)

    def call(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        half = self._dtype
        assert half is not None
        with self._recorder:
            if func.overloadpacket not in _RECURRENT:
                with torch.autocast("cpu", dtype=half, cache_enabled=False):
                    return func.decompose(*args, **kwargs)
            self._dtype = None  # what it is given is as it shall be
            try:
                return _recurrent(func, args, half)
            finally:
                self._dtype = half


def _recurrent(func: Any, args: Sequence[Any], half: torch.dtype) -> Any:
    """Whole all the same: its steps are as many as the data have.

    Some layers keep their state in half precision, others in float32 and only round what goes into
    their products; which, one step of the real operator tells."""
    with _disable_current_modes(), torch.autocast("cpu", dtype=half, cache_enabled=False):
        wanted = [one.dtype for one in func(*_one_step(func, args))]
    narrow = all(dtype is half for dtype in wanted)
    place = 2 if func._overloadname == "data" else 1  # of the state; the weights follow it
    wide = args[0].dtype

    def rounded(value: Tensor) -> Tensor:
        return value.to(half) if narrow else value.to(half).to(wide)

    state = args[place]
    if narrow:
        state = state.to(half) if isinstance(state, Tensor) else [one.to(half) for one in state]
    weights = [rounded(weight) for weight in args[place + 1]]
    given = (rounded(args[0]), *args[1:place], state, weights, *args[place + 2 :])
    results = func(*given)
    return tuple(one.to(dtype) for one, dtype in zip(results, wanted, strict=True))


def _one_step(func: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """The same layer, of nothing but zeros, for one row and one moment."""

    def state(value: Tensor) -> Tensor:
        return torch.zeros(value.shape[0], 1, value.shape[2], dtype=value.dtype)

    def states(value: Any) -> Any:
        return state(value) if isinstance(value, Tensor) else [state(one) for one in value]

    width, dtype = args[0].shape[-1], args[0].dtype
    if func._overloadname == "data":
        first = (torch.zeros(1, width, dtype=dtype), torch.ones(1, dtype=torch.int64))
        rest = args[2:]
    else:
        first = (torch.zeros(1, 1, width, dtype=dtype),)  # type: ignore[assignment]
        rest = args[1:]
    weights = [torch.zeros(weight.shape, dtype=weight.dtype) for weight in rest[1]]
    return (*first, states(rest[0]), weights, *rest[2:])
