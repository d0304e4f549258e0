"""What is known of sizes that may be 1, which no size is to torch."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

_NEVER_LESS = 2  # are the sizes that torch thinks of


def is_at_least(size: Any, number: int) -> bool:
    """Also where the inputs have sizes of 1, which torch never takes into account: that a size is more
    than that was asked for, or answered, only if it is more than 2."""
    if not isinstance(size, torch.SymInt):
        return bool(size >= number)
    ranges = size.node.shape_env.var_to_range
    expr = size.node.expr
    known = {one: ranges[one].lower for one in expr.free_symbols if one in ranges}
    ones = {one: low if low > _NEVER_LESS else min(low, 1) for one, low in known.items()}
    try:
        lowest = expr.xreplace(ones)
    except (ZeroDivisionError, AssertionError):  # what is computed with it allows no 1
        return statically_known_true(size >= number)
    return bool(lowest >= number) and statically_known_true(size >= number)
