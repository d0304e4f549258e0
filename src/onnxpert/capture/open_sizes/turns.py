"""What is known of the number of a turn: `x[t : t + 1]` has one row in every turn of `range(len(x))`.

To torch the number is one that only the data know, and it takes any end for one that may be cut off."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv, statically_known_true

from onnxpert.capture.open_sizes.ones import is_at_least

# In each run: the number of a turn -> how many turns there are.
_COUNTS: WeakKeyDictionary[ShapeEnv, dict[sympy.Symbol, Any]] = WeakKeyDictionary()


def note_turn(turn: Any, count: Any) -> None:
    """From now on `turn` is less than `count`."""
    if isinstance(turn, torch.SymInt) and turn.node.expr.is_Symbol:
        _COUNTS.setdefault(turn.node.shape_env, {})[turn.node.expr] = _expression(count)


def length_between(start: Any, end: Any, size: Any) -> int | None:
    """How many elements a slice has that no turn takes beyond the end of its tensor."""
    if not isinstance(start, torch.SymInt) or not isinstance(end, torch.SymInt):
        return None
    counts = _COUNTS.get(start.node.shape_env, {})
    turns = start.node.expr.free_symbols & counts.keys()
    length = sympy.expand(end.node.expr - start.node.expr)
    if not turns or not length.is_Integer or length < 1:
        return None
    last = end.node.expr
    for turn in turns:
        if not statically_known_true(_boolean(start, sympy.diff(last, turn) >= 0)):
            return None
        last = last.subs(turn, counts[turn] - 1)
    beyond = _number(start, sympy.expand(_expression(size) - last))
    return int(length) if is_at_least(start, 0) and is_at_least(beyond, 0) else None


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _number(like: torch.SymInt, expr: Any) -> Any:
    if expr.is_Integer:
        return int(expr)
    node = like.node
    made = type(node)(expr, node.shape_env, int, None)
    return torch.SymInt(made)  # type: ignore[no-untyped-call]


def _boolean(like: torch.SymInt, condition: Any) -> Any:
    if condition in (sympy.true, sympy.false):
        return bool(condition)
    node = like.node
    made = type(node)(condition, node.shape_env, bool, None)
    return torch.SymBool(made)  # type: ignore[no-untyped-call]
