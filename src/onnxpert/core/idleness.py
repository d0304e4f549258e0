"""Calls of a captured graph that nothing depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import fx


def is_idle(node: fx.Node) -> bool:
    """Whether it gives a tensor that is never looked at, as the lot of a layer in evaluation is that
    is skipped at random in training."""
    schema = getattr(node.target, "_schema", None)
    shape: Any = getattr(node.meta.get("val"), "shape", None)
    if schema is None or schema.is_mutable or shape is None or node.meta.get("taken_out"):
        return False
    # A size that only the data know may be used without a call.
    return all(isinstance(size, int) for size in shape) and all(map(is_idle, node.users))
