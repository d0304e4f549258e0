"""A model that reads memory which its input does not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, InputKind, Severity
from onnxpert.diagnose.rule import rule

if TYPE_CHECKING:
    from torch import fx

_READING = frozenset({"as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter"})


@rule("NUM705", "memory-beyond-tensor", reads=Captured, severity=Severity.ERROR, since="0.2")
def memory_beyond_tensor(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds `as_strided` on an example input that is a view of a larger tensor.

    ## Why it matters
    `as_strided` counts from the start of the memory behind a tensor, and reads what the view leaves
    out. An ONNX input is the view alone: there is nothing behind it.

    ## Example
    ```python
    import torch


    class Windows(torch.nn.Module):
        def forward(self, x):
            return x.as_strided((3, 2), (1, 1), 0)


    model = Windows().eval()
    args = (torch.arange(10.0)[4:9],)
    ```

    ## Use instead
    ```python
    import torch


    class Windows(torch.nn.Module):
        def forward(self, x):
            return x.as_strided((3, 2), (1, 1), 0)


    model = Windows().eval()
    args = (torch.arange(5.0),)
    ```

    ## Repair safety
    Not repaired: a copy of the view computes something else than the model does.
    """
    leaves = {leaf.name: leaf for leaf in captured.loaded.leaves} if captured.loaded else {}
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    partial = {
        node: entry.name
        for node, entry in zip(placeholders, captured.inputs, strict=False)
        if entry.kind is InputKind.USER and entry.name in leaves and leaves[entry.name].partial
    }
    for node in captured.root.graph.nodes:
        packet = getattr(node.target, "overloadpacket", None)
        if getattr(packet, "__name__", "") not in _READING:
            continue
        source = _base(node)
        if source in partial and not _stays_inside(node, leaves[partial[source]].value):
            yield Hit(
                f"as_strided reads the memory behind input {partial[source]}, which is a view "
                "of a larger tensor",
                at=of_meta(node.meta),
                help="give the model the whole tensor, or a copy of the view (.clone()) if that "
                "is what it shall see",
            )


def _stays_inside(node: fx.Node, value: Any) -> bool:
    """Whether it counts from the view's own start, and not past its end."""
    own = getattr(node.args[0], "op", "") == "placeholder"
    size, stride = node.args[1:3]
    if not own or len(node.args) > 3 or node.kwargs.get("storage_offset") is not None:
        return False
    if not all(isinstance(number, int) for number in (*size, *stride)):  # type: ignore[misc]
        return False
    return _reach(size, stride) <= _reach(value.shape, value.stride())


def _reach(size: Any, stride: Any) -> int:
    return sum((number - 1) * step for number, step in zip(size, stride, strict=True))


def _base(node: fx.Node) -> fx.Node:
    """What a chain of views began with."""
    while node.op == "call_function":
        schema = getattr(node.target, "_schema", None)
        first = node.args[0] if node.args else None
        is_view = schema is not None and any(
            result.alias_info is not None for result in schema.returns
        )
        if not is_view or not hasattr(first, "op"):
            return node
        node = first  # type: ignore[assignment]
    return node
