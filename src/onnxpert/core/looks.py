"""What a view shows of the memory that it looks at, in the words of the calls that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import fx

_FAR = 2**63 - 1


def is_write(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def is_reshaping_write(target: Any) -> bool:
    """`unsqueeze_` and its kin change what a tensor looks like, not what it holds."""
    import torch

    return is_write(target) and torch.Tag.inplace_view in target.tags


def shows_all(node: fx.Node) -> bool:
    """Whether a call gives the tensor that it is given: `detach`, `x[:]`, a write."""
    if node.op == "placeholder" or (is_write(node.target) and not is_reshaping_write(node.target)):
        return True
    name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if name != "slice":
        return name in ("alias", "detach")
    start, end, step = list(node.args[2:]) + [None, None, 1][len(node.args) - 2 :]
    return _is(start, None, 0) and _is(end, None, _FAR) and _is(step, 1)


def step(node: fx.Node) -> tuple[Any, ...]:
    """How a call makes a view: equal for those that show the same of one tensor."""
    return node.target, _frozen(node.args[1:]), _frozen(node.kwargs)


def _is(value: Any, *known: int | None) -> bool:
    """Without asking a symbol, which would make it a constant."""
    return (value is None or isinstance(value, int)) and value in known


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping):
        return tuple((key, _frozen(item)) for key, item in value.items())
    symbol = getattr(value, "node", None)  # of a size
    return getattr(symbol, "expr", value)
