"""One operator taken apart by torch itself, when there is no lowering for the whole of it.

`make_fx` is semi-public, `auto_functionalize` and `pending_fresh_unbacked_symbols` torch's own; this use was
tried on 2.13 and 2.15."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch._higher_order_ops import auto_functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from onnxpert.core.bodies import python_body
from onnxpert.lower.storages import has_new_results

_FUNCTIONALISED = (
    torch.ops.higher_order.auto_functionalized,
    torch.ops.higher_order.auto_functionalized_v2,
)


@functools.cache
def _table() -> Mapping[Any, Callable[..., Any]]:
    from torch._decomp import decomposition_table

    return decomposition_table


def decompose(
    target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], mode: Any
) -> tuple[fx.GraphModule, list[Any]] | None:
    """The call as a graph of simpler calls, over its tensors and symbols; None when torch has none.

    `args` hold fake tensors where tensors go. The list says which leaves of the arguments the
    placeholders stand for."""
    body = _body(target)
    if body is None:
        return None
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (torch.Tensor, torch.SymInt))]

    def call(*values: Any) -> Any:
        whole = list(leaves)
        for place, value in zip(places, values, strict=True):
            whole[place] = value
        given, named = pytree.tree_unflatten(whole, structure)
        result = body(*given, **named)
        return tuple(result) if isinstance(result, (list, tuple)) else (result,)

    from torch._dispatch.python import enable_python_dispatcher

    # What the capture left open is none of this call's: torch looks for it in the first result it meets.
    environment = getattr(mode, "shape_env", None)
    if environment is not None:
        environment.pending_fresh_unbacked_symbols.clear()
    # Before dispatch torch keeps larger operators whole, which suits our lowerings; but what is
    # composite through and through is only taken apart behind it.
    for pre_dispatch in (True, False):
        with torch.no_grad(), enable_python_dispatcher(), mode:
            graph = make_fx(call, pre_dispatch=pre_dispatch, _allow_non_fake_inputs=True)(
                *(leaves[place] for place in places)
            )
        if not _is_itself(graph, target):
            return graph, places
    return None


def _body(target: Any) -> Callable[..., Any] | None:
    table = _table()
    if target in table:
        return table[target]
    if isinstance(target, torch._ops.OpOverload) and target._can_decompose():
        return target.decompose
    if target in _FUNCTIONALISED:
        # What torch made of a custom operator that writes: copies, the operator, what it wrote.
        return getattr(auto_functionalize, f"{target._name}_dense", None)
    body = python_body(target)
    return _giving(target, body) if body is not None and target._schema.is_mutable else body


def _giving(target: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """A body that gives what it would write behind its results, and leaves its arguments alone."""
    formal = target._schema.arguments
    written = [a.name for a in formal if a.alias_info is not None and a.alias_info.is_write]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {argument.name: value for argument, value in zip(formal, args, strict=False)}
        given.update(kwargs)
        given.update({name: pytree.tree_map(_copied, given[name]) for name in written})
        results = body(*(given[a.name] for a in formal if a.name in given))
        new = pytree.tree_leaves(results) if has_new_results(target) else []
        return (*new, *pytree.tree_leaves([given[name] for name in written]))

    return call


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _is_itself(graph: fx.GraphModule, target: Any) -> bool:
    """A decomposition that comes back to the same operator would never end."""
    return any(node.op == "call_function" and node.target is target for node in graph.graph.nodes)
