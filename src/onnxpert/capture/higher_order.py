"""torch's operators that take a branch or a loop as functions, done as Python does branches and loops.

`_hop_compile_and_call` is private to torch; this use was tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch

from onnxpert.capture.recorder import Recorder

Function = Callable[..., Any]


def _cond(pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
    return true_fn(*operands) if pred else false_fn(*operands)


def _while_loop(cond_fn: Function, body_fn: Function, carried: Any, others: Any = ()) -> Any:
    while cond_fn(*carried, *others):
        carried = tuple(body_fn(*carried, *others))
    return carried


@contextmanager
def as_python(
    recorder: Recorder, cond: Function = _cond, while_loop: Function = _while_loop
) -> Iterator[None]:
    """While on, this is what they do."""
    from torch._higher_order_ops import utils

    before = recorder.operators
    operators = torch.ops.higher_order
    recorder.operators = {operators.cond: cond, operators.while_loop: while_loop}
    try:
        with patch.object(utils, "_hop_compile_and_call", _called):
            yield
    finally:
        recorder.operators = before


def _called(function: Function, args: Any, kwargs: Any = None) -> Any:
    """Without the compiler, which would give up under a recorder, and for ever."""
    return function(*args, **(kwargs or {}))
