"""Higher-order operators that are plain arithmetic inside: what they do, in calls to record.

`math_attention` is private to torch; this use was tried on 2.13 and 2.15."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch


@functools.cache
def bodies() -> Mapping[Any, Callable[..., Any]]:
    """The arithmetic of an operator, by the operator."""
    from torch._higher_order_ops.flex_attention import math_attention

    return {torch.ops.higher_order.flex_attention: math_attention}
