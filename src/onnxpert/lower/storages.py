"""Which captured tensors share memory, and which calls write into it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from onnxpert.core.looks import is_reshaping_write, is_write
from onnxpert.core.storages import storage_if_any, written

_MOVES = (torch.ops.aten.resize_, torch.ops.aten.resize_as_, torch.ops.aten.set_)
_RESHAPES = (torch.ops.aten.view.default, torch.ops.aten.reshape.default)
_REGION = torch.ops.higher_order.wrap_with_set_grad_enabled


def has_writes(root: Any) -> bool:
    return any(
        is_write(node.target) or any(has_writes(inner) for inner in _bodies(root, node))
        for node in root.graph.nodes
        if node.op == "call_function"
    )


def region(root: Any, node: fx.Node) -> Any | None:
    """The graph of a region that writes: `with torch.no_grad()` as torch.export keeps it."""
    return next((inner for inner in _bodies(root, node) if has_writes(inner)), None)


def _bodies(root: Any, node: fx.Node) -> Iterator[Any]:
    if node.target is _REGION:
        holder = node.args[1]
        assert isinstance(holder, fx.Node)
        yield attribute(root, str(holder.target))


def attribute(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part)
    return root


def written_nodes(node: fx.Node) -> list[fx.Node]:
    """The nodes whose tensors a mutable call writes, in the order of its results."""
    every = written(node.target, node.args, node.kwargs)
    return [item for item in every if isinstance(item, fx.Node)]


def has_new_results(target: Any) -> bool:
    """`_native_batch_norm_legit` writes running means and gives something else back."""
    returns = target._schema.returns
    return bool(returns) and not any(result.alias_info is not None for result in returns)


def storages(root: Any, mode: Any) -> Mapping[fx.Node, int]:
    """A number for the memory of every tensor: views of one have the same."""
    found: dict[fx.Node, Any] = {}
    if not _collect(root, found) and not any(map(_moves_memory, root.graph.nodes)):
        # A graph read from a file has a fresh tensor at every node: who shares is found out anew.
        found.clear()
        with torch.no_grad(), mode:
            _replay(root, found, {})
    memory = {
        node: storage_if_any(value)
        for node, value in found.items()
        if isinstance(value, torch.Tensor)
    }
    return {node: place for node, place in memory.items() if place is not None}


def _moves_memory(node: fx.Node) -> bool:
    """A call that no file has; torch's fakes are broken behind it, and crash when they are asked."""
    return getattr(node.target, "overloadpacket", None) in _MOVES


def _collect(root: Any, found: dict[fx.Node, Any]) -> bool:
    """The tensors of the capture itself; False where a write does not share with what it writes."""
    for node in root.graph.nodes:
        found[node] = node.meta.get("val")
        if is_write(node.target) and not has_new_results(node.target):
            results = found[node] if isinstance(found[node], (list, tuple)) else [found[node]]
            for result, given in zip(results, written_nodes(node), strict=False):
                if isinstance(result, torch.Tensor) and not _shared(result, found[given]):
                    return False
        inner = region(root, node) if node.op == "call_function" else None
        if inner is not None and not (
            _collect(inner, found)
            and all(_shared(found[a], found[b]) for a, b in entries(inner, node))
        ):
            return False
    return True


def entries(inner: Any, node: fx.Node) -> list[tuple[fx.Node, fx.Node]]:
    """The placeholders of a region beside the nodes that are given to it."""
    places = [place for place in inner.graph.nodes if place.op == "placeholder"]
    given = node.args[2:]
    return [(a, b) for a, b in zip(places, given, strict=True) if isinstance(b, fx.Node)]


def _shared(a: Any, b: Any) -> bool:
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        return True
    return storage_if_any(a) == storage_if_any(b)


def _replay(root: Any, found: dict[fx.Node, Any], given: Mapping[fx.Node, Any]) -> None:
    """Runs what makes views; everything else makes memory of its own."""
    for node in root.graph.nodes:
        if node in given:
            found[node] = given[node]
        elif node.target is operator.getitem and isinstance(found[node.args[0]], (list, tuple)):
            found[node] = found[node.args[0]][node.args[1]]
        elif (
            is_write(node.target)
            and not is_reshaping_write(node.target)
            and not has_new_results(node.target)
        ):
            written = [found[target] for target in written_nodes(node)]
            found[node] = written[0] if len(written) == 1 else tuple(written)
        elif _makes_views(node.target):
            args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: _value(n, found))
            found[node] = _viewed(node, _as_found(node, args), kwargs)
        else:
            found[node] = node.meta.get("val")
        inner = region(root, node) if node.op == "call_function" else None
        if inner is not None:
            _replay(inner, found, {a: found[b] for a, b in entries(inner, node)})
            results = next(reversed(inner.graph.nodes)).args[0]
            found[node] = fx.map_arg(results, lambda n: found[n])


def _viewed(node: fx.Node, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What makes a view, run; where it cannot be at the example's sizes (`x[0]` of none), as it was
    recorded, in the memory of what it looks at."""
    try:
        return node.target(*args, **kwargs)  # type: ignore[operator]
    except (RuntimeError, IndexError, ValueError):
        look = node.meta.get("val")
        if not isinstance(look, torch.Tensor) or not isinstance(args[0], torch.Tensor):
            raise
        return args[0].as_strided(look.shape, look.stride(), look.storage_offset())


def _as_found(node: fx.Node, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A view with the size in it that the capture found for -1: nobody can tell it of what is empty
    at the example, as a side of a branch may be that is for other sizes."""
    if node.target in _RESHAPES and "val" in node.meta and len(args) > 1:
        return (args[0], list(node.meta["val"].shape), *args[2:])
    return args


def _value(node: fx.Node, found: Mapping[fx.Node, Any]) -> Any:
    value = found[node]
    return node.meta.get("val") if value is None else value


def _makes_views(target: Any) -> bool:
    return isinstance(target, OpOverload) and any(
        result.alias_info is not None for result in target._schema.returns
    )
