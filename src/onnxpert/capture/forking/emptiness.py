"""`if x.numel() == 0`: a question like any other, though torch takes it for settled.

To torch every size that varies is at least 1, so that sympy answers at once and nobody is asked. Said
with half the size, rounded up, the same question stays open. The comparisons of `torch.SymInt`,
`SymNode` and `FloorDiv` are torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import sympy
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import FloorDiv

from onnxpert.capture.forking.questions import Asking
from onnxpert.core.source import Owner, ownership

# Comparison and number -> whether it holds for what is empty; for all else, it is the other way.
_OF_EMPTINESS = {
    ("__eq__", 0): True,
    ("__le__", 0): True,
    ("__lt__", 1): True,
    ("__ne__", 0): False,
    ("__gt__", 0): False,
    ("__ge__", 1): False,
}


def _is_asking(environment: Any) -> bool:
    return isinstance(environment, Asking) and environment.look is not None


@contextmanager
def open_emptiness(takes: Callable[[Any], bool] = _is_asking) -> Iterator[None]:
    """While on, whether a size is zero is not known beforehand, to environments that take questions."""
    names = {name for name, _ in _OF_EMPTINESS}
    plain = {name: getattr(torch.SymInt, name) for name in names}
    for name, compare in plain.items():
        setattr(torch.SymInt, name, _reopened(name, compare, takes))
    try:
        yield
    finally:
        for name, compare in plain.items():
            setattr(torch.SymInt, name, compare)


def _reopened(
    name: str, plain: Callable[[Any, Any], Any], takes: Callable[[Any], bool]
) -> Callable[[Any, Any], Any]:
    def compare(size: Any, other: Any) -> Any:
        found = plain(size, other)
        if type(other) is not int or not isinstance(found, torch.SymBool):
            return found
        if_empty = _OF_EMPTINESS.get((name, other))
        settled = found.node.expr in (sympy.true, sympy.false)
        environment = size.node.shape_env
        if not (settled and takes(environment) and _is_users(sys._getframe(1))):
            return found
        return found if if_empty is None else _asked(size.node, if_empty) or found

    return compare


def _is_users(frame: FrameType) -> bool:
    """Whether the user's own code compares: torch's would rather be told than ask."""
    if frame.f_code.co_filename == torch.__file__ and frame.f_back is not None:
        frame = frame.f_back  # `if x.numel():`
    return ownership(frame.f_code.co_filename) >= Owner.USER


def _asked(node: Any, if_empty: bool) -> torch.SymBool | None:
    """The question whether it is zero; None where no sizes make it so."""
    count = node.expr
    if free_unbacked_symbols(count) or not _can_be_zero(count):
        return None
    half = FloorDiv(count.as_coeff_Mul()[1] + 1, 2)  # of 2*s it would know
    relation = half < 1 if if_empty else half >= 1
    if relation in (sympy.true, sympy.false):
        return None
    return torch.SymBool(SymNode(relation, node.shape_env, bool, not if_empty))  # type: ignore[no-untyped-call]


def _can_be_zero(count: Any) -> bool:
    """Whether it is zero as soon as one of its sizes is, and never less."""
    symbols = count.free_symbols
    return bool(symbols) and all(count.xreplace({each: sympy.S.Zero}) == 0 for each in symbols)
