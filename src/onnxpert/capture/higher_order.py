"""torch's operators that take a branch or a loop as functions, done as Python does branches and loops.

`_hop_compile_and_call` is private to torch; this use was tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode

from onnxpert.capture.recorder import Recorder

Function = Callable[..., Any]


def _cond(pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
    return true_fn(*operands) if pred else false_fn(*operands)


def _while_loop(cond_fn: Function, body_fn: Function, carried: Any, others: Any = ()) -> Any:
    while cond_fn(*carried, *others):
        carried = tuple(body_fn(*carried, *others))
    return carried


def _scan(turn: Function, carried: Any, rows: Any, others: Any = ()) -> Any:
    columns = []
    for place in range(rows[0].shape[0]):
        left = turn(*carried, *(row[place] for row in rows), *others)
        carried, given = left[: len(carried)], left[len(carried) :]
        columns.append(given)
    return [*carried, *map(torch.stack, zip(*columns, strict=True))]


class _Opened(TorchFunctionMode):
    """While on, a call of one of them is a call of the function that does it as Python.

    What else is on while a model runs is on in its branches and turns too: it would not be, were that
    left to the operator, which is one call to all modes."""

    def __init__(self, operators: Mapping[Any, Function]) -> None:
        super().__init__()
        self._operators = operators

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        function = self._operators.get(func) if isinstance(func, HigherOrderOperator) else None
        if function is None:
            return func(*args, **(kwargs or {}))
        with self:
            return function(*args, **(kwargs or {}))


@contextmanager
def as_python(
    recorder: Recorder, cond: Function = _cond, while_loop: Function = _while_loop
) -> Iterator[None]:
    """While on, this is what they do."""
    from torch._higher_order_ops import utils

    before = recorder.operators
    operators = torch.ops.higher_order
    functions = {operators.cond: cond, operators.while_loop: while_loop, operators.scan: _scan}
    recorder.operators = functions  # where no mode of Python's is on any more
    try:
        with patch.object(utils, "_hop_compile_and_call", _called), _Opened(functions):
            yield
    finally:
        recorder.operators = before


def _called(function: Function, args: Any, kwargs: Any = None) -> Any:
    """Without the compiler, which would give up under a recorder, and for ever."""
    return function(*args, **(kwargs or {}))
