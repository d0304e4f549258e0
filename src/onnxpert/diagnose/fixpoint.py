"""Whether what a call writes into the model is the same every time, so that a file may hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxpert.core.flatten import is_tensor
from onnxpert.core.storages import storage_if_any
from onnxpert.core.types import Captured, InputKind

if TYPE_CHECKING:
    import torch
    from torch import fx


def settles(captured: Captured, index: int) -> bool:
    """Whether the value of an input of the graph, once written, is no longer changed by a call.

    `weight *= mask` is such a write: it does not look at what the user gives, and the second time it
    changes nothing. It is computed with the model's own values, twice."""
    import torch

    first = {
        position: entry.tensor.detach().clone()
        for position, entry in enumerate(captured.inputs)
        if entry.kind is not InputKind.USER and not entry.stands_in and _has_values(entry.tensor)
    }
    if index not in first:
        return False
    if _shortens_what_it_looks_up(captured, index):
        return True
    try:
        with torch.no_grad():
            after = _after(captured, first, index)
            again = _after(captured, after, index)
        return torch.equal(after[index], again[index])
    except Exception:  # a graph that does not run on its own: nothing is known of it
        return False


def _shortens_what_it_looks_up(captured: Captured, index: int) -> bool:
    """Whether rows are only ever looked up right after they were made no longer than `max_norm`: what
    earlier calls have done to them, this one would do again."""
    import torch

    aten = torch.ops.aten
    placeholder = [node for node in captured.root.graph.nodes if node.op == "placeholder"][index]
    memory = storage_if_any(placeholder.meta["val"])
    shortened: Any = None  # the rows that were, last
    for node in captured.root.graph.nodes:
        if not any(_is_in(each, memory) for each in node.all_input_nodes):
            continue
        if node.target is aten.embedding_renorm_.default:
            shortened = node.args[1]
        elif node.target is aten.embedding.default:
            if node.args[1] is not shortened:
                return False
        elif node.target is not aten.detach.default:
            return False
    return shortened is not None


def _is_in(node: fx.Node, memory: int | None) -> bool:
    value: Any = node.meta.get("val")
    return memory is not None and is_tensor(value) and storage_if_any(value) == memory


class _UserInputError(Exception):
    """What is written depends on what the user gives."""


class _UnseenWriteError(Exception):
    """The graph ends before that, or the write is none of a call's."""


def _has_values(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and tensor.device.type == "cpu" and not tensor.is_quantized


def _after(
    captured: Captured, given: dict[int, torch.Tensor], index: int
) -> dict[int, torch.Tensor]:
    """The values after a call, of which only what no input of the user's reaches is run."""
    values: dict[fx.Node, Any] = {}
    written = captured.root.graph
    placeholders = [node for node in written.nodes if node.op == "placeholder"]
    held = {position: tensor.clone() for position, tensor in given.items()}
    for position, node in enumerate(placeholders):
        if position in held:
            values[node] = held[position]
    is_written = False
    for node in written.nodes:
        if node.op != "call_function":
            continue
        may_write = _may_write(node, placeholders[index])
        if all(each in values for each in node.all_input_nodes):
            values[node] = _run(node, values)
            is_written |= may_write
        elif may_write:
            raise _UserInputError
    if not is_written:
        raise _UnseenWriteError
    return held


def _run(node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    from torch.fx.node import map_arg

    args, kwargs = map_arg((node.args, node.kwargs), lambda each: values[each])
    return node.target(*args, **kwargs)  # type: ignore[operator]


def _may_write(node: fx.Node, owner: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    memory = storage_if_any(owner.meta["val"])
    return any(_is_in(each, memory) for each in node.all_input_nodes)
