"""Which sizes of a graph the data decide, and not a branch that only asks about sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import fx


def data_sizes(root: Any) -> set[str]:
    """The symbols of such sizes. A branch whose sides differ in size makes one of its own."""
    found: set[str] = set()
    others: set[str] = set()
    for node in root.graph.nodes:
        fresh = set(symbols(node.meta.get("val"))) - found - others
        if node.op == "placeholder" or _is_worked_out(node, found):
            others |= fresh
        elif _asks_of_sizes(node, found):
            decided = fresh & set(_decided_on_a_side(root, node))
            found |= decided
            others |= fresh - decided
        else:
            found |= fresh
    return found


def symbols(value: Any) -> Iterator[str]:
    """Those of a value's sizes that no size of an input gives."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from symbols(each)
    for each in (value, *getattr(value, "shape", ())):
        if hasattr(each, "node"):
            names = map(str, each.node.expr.free_symbols)
            yield from (name for name in names if name.startswith("u"))


def _is_worked_out(node: fx.Node, found: set[str]) -> bool:
    """Whether sizes alone say what comes of a call: it has a symbol for a longer expression."""
    from torch import Tag

    of_data = {Tag.data_dependent_output, Tag.dynamic_output_shape}
    target: Any = node.target
    if getattr(target, "namespace", "") != "aten" or of_data & set(target.tags):
        return False
    return not any(found & set(symbols(given.meta.get("val"))) for given in node.all_input_nodes)


def _asks_of_sizes(node: fx.Node, found: set[str]) -> bool:
    """Whether a call is a branch, and no data decide which side is taken."""
    if getattr(node.target, "__name__", "") != "cond":
        return False
    condition: Any = node.args[0]
    asked = condition.meta.get("val") if hasattr(condition, "meta") else condition
    return not hasattr(asked, "dtype") and found.isdisjoint(symbols(asked))


def _decided_on_a_side(root: Any, node: fx.Node) -> Iterator[str]:
    """The symbols of those results that have a size on one side which the data decide."""
    sides: Any = node.args[1:3]
    for body in (getattr(root, str(side.target)) for side in sides):
        decided = data_sizes(body)
        (ends,) = body.graph.find_nodes(op="output")
        for end, result in zip(ends.args[0], node.meta["val"], strict=False):
            if decided & set(symbols(end.meta.get("val") if hasattr(end, "meta") else end)):
                yield from symbols(result)
