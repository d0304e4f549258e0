"""torch's functions that take a branch or a loop as functions, done as Python does branches and loops.

`torch._higher_order_ops` is private; its names were tried on 2.13 and 2.15."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch

Function = Callable[..., Any]


def _cond(pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
    return true_fn(*operands) if pred else false_fn(*operands)


def _while_loop(cond_fn: Function, body_fn: Function, carried_inputs: Any) -> Any:
    carried = carried_inputs
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried


@contextmanager
def as_python(cond: Function = _cond, while_loop: Function = _while_loop) -> Iterator[None]:
    """While on, these are what torch's names for them say."""
    package = importlib.import_module("torch._higher_order_ops")
    with ExitStack() as stack:
        for name, function in (("cond", cond), ("while_loop", while_loop)):
            home = importlib.import_module(f"torch._higher_order_ops.{name}")
            for place in (torch, package, home):
                if hasattr(place, name):
                    stack.enter_context(patch.object(place, name, function))
        yield
