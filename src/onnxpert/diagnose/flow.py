"""What flows where in a captured graph: who writes an input, and whether a result depends on it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxpert.core.idleness import is_idle
from onnxpert.core.source import of_meta
from onnxpert.core.storages import storage_if_any, written
from onnxpert.core.surrounding import returned
from onnxpert.core.types import Captured, InputKind, Location, Sight
from onnxpert.diagnose.modes import FLAGS
from onnxpert.diagnose.overwriting import Overwritten

if TYPE_CHECKING:
    from torch import fx


def _storage(node: fx.Node) -> int | None:
    value: Any = node.meta.get("val")
    return storage_if_any(value) if hasattr(value, "untyped_storage") else None


def _written(node: fx.Node) -> Iterator[Any]:
    every = written(node.target, node.args, node.kwargs)
    return (given for given in every if hasattr(given, "meta"))


class Change(NamedTuple):
    """Something of the model's or of the caller's that forward writes to, and where it does."""

    kind: InputKind
    name: str
    position: int | None  # among the inputs of the graph; None where the graph has nothing of it
    places: tuple[Location | None, ...]


def changes(captured: Captured) -> Iterator[Change]:
    """Each thing that is written to in place: by a call of the graph, itself or through a view, or by
    a line that was seen to when the model ran."""
    places: dict[tuple[InputKind, str], dict[Location | None, None]] = {}
    indices = {(entry.kind, entry.name): index for index, entry in enumerate(captured.inputs)}
    for index, node in _writes(captured):
        entry = captured.inputs[index]
        places.setdefault((entry.kind, entry.name), {})[of_meta(node.meta)] = None
    for one in captured.seen:
        if one.sight is Sight.WRITE and one.owner is not None:
            places.setdefault((one.owner, one.name), {})[one.location] = None
    for key, found in places.items():
        lines = {(at.file, at.line): at for at in reversed(found) if at is not None}
        yield Change(*key, indices.get(key), tuple(reversed(lines.values())) or (None,))


def _writes(captured: Captured) -> Iterator[tuple[int, fx.Node]]:
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    owners = {_storage(node): index for index, node in enumerate(placeholders)}
    owners.pop(None, None)
    for node in captured.root.graph.nodes:
        for given in _written(node):
            index = owners.get(_storage(given))
            if index is not None:
                yield index, _innermost(captured.root, node)


def _innermost(root: Any, write: fx.Node) -> fx.Node:
    """Where a branch of Python's brings the change about, the call on its side that does."""
    result = write.args[1] if len(write.args) > 1 else None
    fork = result.args[0] if getattr(result, "target", None) is operator.getitem else None  # type: ignore[union-attr]
    if getattr(getattr(fork, "target", None), "__name__", "") != "cond":
        return write
    for side in fork.args[1:3]:  # type: ignore[union-attr]
        body = getattr(root, str(getattr(side, "target", "")), None)
        found = None if body is None else _change(body, result.args[1])  # type: ignore[union-attr]
        if found is not None:
            return found
    return write


def _change(body: Any, position: Any) -> fx.Node | None:
    """The call in a branch that writes to what it gives back at a position."""
    given = next(node for node in body.graph.nodes if node.op == "output").args[0][position]
    for node in body.graph.nodes:
        if any(_viewed(one) is given for one in _written(node)):
            return _innermost(body, node)
    return None


def _viewed(node: Any) -> Any:
    """The tensor that a view, or a view of a view, looks at."""
    schema = getattr(getattr(node, "target", None), "_schema", None)
    while schema is not None and any(given.alias_info is not None for given in schema.returns):
        node = node.args[0]
        schema = getattr(getattr(node, "target", None), "_schema", None)
    return node


def reaches_output(captured: Captured, index: int, known: frozenset[int] = frozenset()) -> bool:
    """Whether any output depends on a graph input: through values, shared storage, or numbers that
    Python took out of a tensor and went on with; or an output of a later call, through what is written
    to another one (`known` are those that have been asked about)."""
    nodes = list(captured.root.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    start = placeholders[index]
    touched, storages = {start}, {_storage(start)} - {None}
    symbols = _symbols(start.meta.get("val"))
    own, fresh = _storage(start), Overwritten(start)

    def is_touched(given: fx.Node) -> bool:
        if own is not None and _storage(given) == own:
            return not fresh.covers(given)
        return given in touched or _storage(given) in storages

    for node in nodes:
        depends = any(map(is_touched, fresh.reads(node)))
        depends = depends or not symbols.isdisjoint(_symbols((node.args, node.kwargs)))
        if node.op == "output":
            if depends:
                return True
            break
        for given in _written(node):
            if own is not None and _storage(given) == own:
                fresh.write(node, given, clean=not depends)
        if depends:
            touched.add(node)
            storages.update({_storage(given) for given in _written(node)} - {None})
            symbols |= _symbols(node.meta.get("val")) if not _is_tensor(node) else set()
        elif node is not start and _storage(node) in storages:
            touched.add(node)
    known |= {index}
    return any(
        position not in known and reaches_output(captured, position, known)
        for position, node in enumerate(placeholders)
        if _storage(node) in storages and captured.inputs[position].kind is not InputKind.USER
    )


def is_unread_by_any(captured: Captured, index: int) -> bool:
    """Whether no call was given a graph input, or a size of it, and Python took nothing out of it."""
    nodes = list(captured.root.graph.nodes)
    node = [node for node in nodes if node.op == "placeholder"][index]
    sizes = _symbols(getattr(node.meta.get("val"), "shape", ()))
    asked = any(not sizes.isdisjoint(_symbols((each.args, each.kwargs))) for each in nodes)
    return not (node.users or "taken_out" in node.meta or asked)


def _is_tensor(node: fx.Node) -> bool:
    return hasattr(node.meta.get("val"), "untyped_storage")


def _symbols(value: Any) -> set[Any]:
    """The numbers unknown to torch that a value is made of: sizes, and what was read from tensors."""
    if isinstance(value, (list, tuple)):
        return set().union(*map(_symbols, value))
    if isinstance(value, Mapping):
        return _symbols(tuple(value.values()))
    if isinstance(value, slice):
        return _symbols((value.start, value.stop, value.step))
    if hasattr(value, "free_symbols"):  # a bare expression
        return set(value.free_symbols)
    node: Any = getattr(value, "node", None)
    return set(node.expr.free_symbols) if hasattr(node, "expr") else set()


# They may draw, but computing is what they are for.
_COMPUTING = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu", "scaled_dot_product_attention"})


def draws(node: fx.Node) -> bool:
    """Whether a call gives random numbers; the tag is torch's own, as of 2.13 and 2.15."""
    import torch

    packet = getattr(node.target, "overloadpacket", None)
    name = getattr(packet, "__name__", "")
    if name in FLAGS:
        return False  # in training mode, which is said in its own words
    tagged = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    return tagged and name not in _COMPUTING and not is_idle(node)


def end_of(captured: Captured) -> Location | None:
    """Where the model was seen to return; else the only line where it can, or its definition."""
    seen = (one.location for one in captured.seen if one.sight is Sight.RETURN)
    return next(seen, None) or returned(captured.loaded.source if captured.loaded else None)


def boundary(captured: Captured) -> Iterator[tuple[str, str, Any]]:
    """What goes in and comes out: "input" or "output", its name, and its value while tracing."""
    nodes = captured.root.graph.nodes
    placeholders = [node for node in nodes if node.op == "placeholder"]
    for entry, node in zip(captured.inputs, placeholders, strict=True):
        if entry.kind is InputKind.USER:
            yield "input", entry.name, node.meta.get("val")
    outputs = next(node for node in nodes if node.op == "output").args[0]
    for index, output in enumerate(outputs):
        names = captured.output_names
        name = names[index] if index < len(names) else ""
        yield (
            "output",
            name or str(index),
            output.meta.get("val") if hasattr(output, "meta") else output,
        )


_GIVEN = (InputKind.USER, InputKind.PARAMETER)
_FLOATS = frozenset({"float64", "float32", "float16", "bfloat16"})


def given_floats(captured: Captured) -> set[str]:
    """The dtypes that a model is in: of its inputs; of its weights where none of those is a float."""
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    pairs = list(zip(placeholders, captured.inputs, strict=True))
    for kind in _GIVEN:
        dtypes = {dtype_of(node) for node, entry in pairs if entry.kind is kind} & _FLOATS
        if dtypes:
            return dtypes
    return set()


def dtype_of(node: fx.Node) -> str:
    return str(getattr(node.meta.get("val"), "dtype", "")).removeprefix("torch.")


def beginnings(captured: Captured, dtype: str) -> Iterator[Location]:
    """The lines where a model that is given nothing of a dtype begins to compute in it."""

    def has(node: fx.Node) -> bool:
        # One number is what Python computes with too, and makes nothing that it meets as precise.
        return dtype_of(node) == dtype and node.meta["val"].dim() > 0

    nodes = list(captured.root.graph.nodes)
    if dtype in given_floats(captured):
        return
    for node in nodes:
        at = of_meta(node.meta) if node.op == "call_function" and has(node) else None
        before = [source for source in node.all_input_nodes if source.op != "placeholder"]
        if at is not None and not any(map(has, before)):
            yield at
