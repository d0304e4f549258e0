"""torch's own loops as Python has them, while a model is only run: torch compiles them anew for every size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def plain_loops() -> Iterator[None]:
    """While on, `torch._higher_order_ops.scan` and `while_loop` turn in Python, and can be watched."""
    from torch import _higher_order_ops

    ops: Any = _higher_order_ops

    kept = ops.scan, ops.while_loop
    ops.scan, ops.while_loop = _scan, _while_loop
    try:
        yield
    finally:
        ops.scan, ops.while_loop = kept


def _scan(
    step: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> Any:
    import torch
    from torch.utils._pytree import tree_flatten, tree_map

    many = tree_flatten(xs)[0][0].shape[dim]
    given: list[Any] = []
    for number in reversed(range(many)) if reverse else range(many):
        init, row = step(init, tree_map(lambda each: each.select(dim, number), xs))  # noqa: B023 - called here
        given.append(row)
    if reverse:
        given.reverse()
    return init, tree_map(lambda *rows: torch.stack(rows), *given)


def _while_loop(
    goes_on: Callable[..., Any], turn: Callable[..., Any], carried: Sequence[Any]
) -> tuple[Any, ...]:
    values = tuple(carried)
    while goes_on(*values):
        values = tuple(turn(*values))
    return values
