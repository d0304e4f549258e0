"""Opsets below 13: what the emitter writes otherwise there, or cannot write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir
import torch

LOWEST = 11
# Their second input was an attribute before opset 13. They are written as since then, so that all
# that reads nodes while lowering knows one form; a pass at the end turns it around.
_MOVED = frozenset({"Squeeze", "Unsqueeze", "ReduceSum", "Split"})


def form(op_type: str, opset: int) -> int:
    """The opset whose form of an operator is written."""
    return 13 if opset < 13 and op_type in _MOVED else opset


def is_moved(op_type: str, opset: int) -> bool:
    return opset < 13 and op_type in _MOVED


def rewritten(op_type: str, opset: int) -> Callable[..., Any] | None:
    """How to say an operator that the opset does not have in this sense; None: as it is."""
    if opset >= 13:
        return None
    return (
        _BEFORE_12.get(op_type) if opset < 12 and op_type in _BEFORE_12 else _BEFORE_13.get(op_type)
    )


def _or_equal(strict: str) -> Callable[..., Any]:
    def compare(op: Any, x: Any, y: Any) -> Any:
        return op.Or(op.emit(strict, x, y), op.Equal(x, y))

    return compare


def _along_last(name: str) -> Callable[..., Any]:
    """It used to normalise over all axes from the given one on: only the last one means the same."""

    def normalise(op: Any, x: ir.Value, axis: int = -1) -> Any:
        rank = op.rank(x)
        axis %= rank
        if axis == rank - 1:
            return op.emit(name, x, axis=axis, _as_it_is=True)
        order = [*(each for each in range(rank) if each != axis), axis]
        back = [order.index(each) for each in range(rank)]
        last = op.emit(name, op.Transpose(x, perm=order), axis=rank - 1, _as_it_is=True)
        return op.Transpose(last, perm=back)

    return normalise


def _resize(op: Any, x: ir.Value, *rest: Any, **attributes: Any) -> Any:
    """What may be left out since opset 13 was empty before."""
    given: Sequence[Any] = [op.const([], torch.float32) if one is None else one for one in rest[:2]]
    return op.emit("Resize", x, *given, *rest[2:], **attributes, _as_it_is=True)


_BEFORE_12: dict[str, Callable[..., Any]] = {
    "LessOrEqual": _or_equal("Less"),
    "GreaterOrEqual": _or_equal("Greater"),
}
_BEFORE_13: dict[str, Callable[..., Any]] = {
    "Softmax": _along_last("Softmax"),
    "LogSoftmax": _along_last("LogSoftmax"),
    "Resize": _resize,
}
