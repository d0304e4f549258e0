"""`max(n - 1, 1)`: to torch that is `n - 1`, for no size is 0 or 1 there; in a run of the file one may be.

What is known of all sizes from 2 on stays as it is, and for 0 and 1 something is added to it. That the
size is one of these is said in a way that torch does not see through: with half of it, rounded.
`SymNode` and `FloorDiv` are torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import FloorDiv, Min


def correction(found: Any, one: Any, other: Any, choose: Callable[[Any, Any], Any]) -> Any:
    """What has to be added to the larger or smaller of the two, so that it is that for 0 and 1 too."""
    nodes = [value.node for value in (one, other) if isinstance(value, torch.SymInt)]
    if len(nodes) != 1 or not all(isinstance(v, (int, torch.SymInt)) for v in (one, other)):
        return 0
    (node,) = nodes
    symbols = node.expr.free_symbols
    if len(symbols) != 1 or free_unbacked_symbols(node.expr):
        return 0
    (size,) = symbols
    none, one_at_most = (1 - Min(1, FloorDiv(size + more, 2)) for more in (1, 0))  # type: ignore[no-untyped-call]
    missing = [_missing(few, size, found, (one, other), choose) for few in (0, 1)]
    if None in missing or not any(missing):
        return 0
    added = missing[0] * none + missing[1] * (one_at_most - none)
    return torch.SymInt(SymNode(added, node.shape_env, int, 0))  # type: ignore[no-untyped-call]


def _missing(few: int, size: Any, found: Any, both: tuple[Any, Any], choose: Any) -> int | None:
    """How much too small what was found is, at one of these sizes."""
    values = [_at(few, value, size) for value in (found, *both)]
    return None if None in values else choose(*values[1:]) - values[0]


def _at(few: int, value: Any, size: Any) -> Any:
    if isinstance(value, int):
        return value
    try:
        number = value.node.expr.xreplace({size: sympy.Integer(few)})
    except (ZeroDivisionError, AssertionError, ValueError):
        return None
    return int(number) if number.is_Integer else None
