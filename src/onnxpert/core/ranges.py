"""What torch's dynamic kernels do and no operator of torch's says: calls of a captured graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class _Call:
    """One of them, known by its name."""

    __name__ = ""

    def __repr__(self) -> str:
        return f"onnxpert.{self.__name__}"


class RangeOf(_Call):
    """Scale and zero point of `x` as 8 bits without a sign (7 where `reduce_range`), as tensors."""

    __name__ = "range_of"

    def __call__(self, x: Any, reduce_range: bool) -> tuple[Any, Any]:
        import torch

        scale, zero_point = torch._choose_qparams_per_tensor(x, reduce_range)
        return torch.tensor(scale), torch.tensor(zero_point, dtype=torch.uint8)


class StepsOf(_Call):
    """The steps of an LSTM or a GRU over time, each of which quantises its state by its own range.

    `gates` are what the input brings to each step, `states` those before the first."""

    __name__ = "steps_of"

    def __call__(
        self,
        kind: str,
        gates: Any,
        states: Sequence[Any],
        weight: Any,
        bias: Any,
        reduce_range: bool,
        reverse: bool,
    ) -> tuple[Any, ...]:
        import torch

        outputs = []
        for given in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
            scale, zero = torch._choose_qparams_per_tensor(states[0], reduce_range)
            whole = (states[0] / scale).round().add(zero).clamp(0, 255)
            own = torch.nn.functional.linear((whole - zero) * scale, weight, bias)
            states = _CELLS[kind](given, own, states)
            outputs.append(states[0])
        return torch.stack(outputs[::-1] if reverse else outputs), *states


def lstm_cell(given: Any, own: Any, states: Sequence[Any]) -> tuple[Any, Any]:
    """The next output and memory, from the input's and the state's share of the gates."""
    enter, forget, new, leave = (given + own).chunk(4, -1)
    memory = forget.sigmoid() * states[1] + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * memory.tanh(), memory


def gru_cell(given: Any, own: Any, states: Sequence[Any]) -> tuple[Any]:
    """The same of a GRU, which has no memory beside its output."""
    (reset, update, new), (r, u, n) = given.chunk(3, -1), own.chunk(3, -1)
    fresh = (new + (reset + r).sigmoid() * n).tanh()
    return ((states[0] - fresh) * (update + u).sigmoid() + fresh,)


_CELLS = {"lstm": lstm_cell, "gru": gru_cell}
RANGE_OF = RangeOf()
STEPS_OF = StepsOf()
