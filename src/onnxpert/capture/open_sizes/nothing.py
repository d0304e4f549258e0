"""`max(n, 1)`: to torch that is `n`, for no size is zero there; in a run of the file one may be.

What is known of all sizes from 1 on stays as it is, and for 0 something is added to it. That the size
is 0 is said in a way that torch does not see through: with half of it, rounded up. `SymNode` and
`FloorDiv` are torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import FloorDiv, Min


def correction(found: Any, one: Any, other: Any, choose: Callable[[Any, Any], Any]) -> Any:
    """What has to be added to the larger or smaller of the two, so that it is that for 0 too."""
    nodes = [value.node for value in (one, other) if isinstance(value, torch.SymInt)]
    if len(nodes) != 1 or not all(isinstance(v, (int, torch.SymInt)) for v in (one, other)):
        return 0
    (node,) = nodes
    symbols = node.expr.free_symbols
    if len(symbols) != 1 or free_unbacked_symbols(node.expr):
        return 0
    (size,) = symbols
    values = [_at_nothing(value, size) for value in (found, one, other)]
    if None in values or choose(*values[1:]) == values[0]:
        return 0
    is_nothing = 1 - Min(1, FloorDiv(size + 1, 2))  # type: ignore[no-untyped-call]
    missing = choose(*values[1:]) - values[0]
    return torch.SymInt(SymNode(missing * is_nothing, node.shape_env, int, 0))  # type: ignore[no-untyped-call]


def _at_nothing(value: Any, size: Any) -> Any:
    if isinstance(value, int):
        return value
    try:
        at_zero = value.node.expr.xreplace({size: sympy.S.Zero})
    except (ZeroDivisionError, AssertionError, ValueError):
        return None
    return int(at_zero) if at_zero.is_Integer else None
