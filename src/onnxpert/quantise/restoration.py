"""A quantised file made ours again: the user's names, places and promises, and nothing left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.types import Lowered
from onnxpert.quantise.naming import Tokens, bodies, every_node, renamed
from onnxpert.quantise.preparation import Prepared, drop_unused

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

NODE_NOTES_SINCE = 10  # the IR version in which a node may carry metadata


def restore(quantised: Path, prepared: Prepared, lowered: Lowered) -> ir.Model:
    """The quantised file in memory, with the ends, versions and metadata of the float one."""
    import onnx
    import onnx_ir as ir

    model = onnx.load(quantised)
    places = _Notes(prepared, lowered)
    for node in every_node(model.graph):
        places.write(node)
    drop_unused(model.graph)
    _rename(model.graph, prepared.tokens)
    del model.graph.value_info[:]
    found = ir.from_proto(model)
    _as_before(found, lowered.model)
    return found


class _Notes:
    """The module and the line of each node of the float file, for what it was turned into."""

    def __init__(self, prepared: Prepared, lowered: Lowered) -> None:
        self._wanted = lowered.model.ir_version >= NODE_NOTES_SINCE
        by_name = {node.name: node for node in lowered.model.graph.all_nodes()}
        by_value = {value.name: node for node in by_name.values() for value in node.outputs}
        self._by_token: dict[str, Mapping[str, str]] = {}
        self._nodes: set[str] = set()
        for node in every_node(prepared.model.graph):
            value = prepared.tokens.name(node.output[0])
            source = by_name.get(prepared.tokens.name(node.name)) or by_value.get(value)
            if source is not None:
                self._nodes.add(node.name)
                for token in (node.name, *node.output):
                    self._by_token[token] = source.metadata_props

    def write(self, node: onnx.NodeProto) -> None:
        del node.metadata_props[:]
        if not self._wanted:
            return
        by_name = self._by_token.get(Tokens.first(node.name), {})
        by_value = (self._by_token.get(Tokens.first(name), {}) for name in node.output)
        # A node that is only about a value says where it belongs, and not the line once more.
        notes = by_name if Tokens.first(node.name) in self._nodes else next(by_value, {})
        for key, value in notes.items():
            if notes is by_name or key == "onnxpert.module":
                node.metadata_props.add(key=key, value=value)


def _rename(graph: onnx.GraphProto, tokens: Tokens) -> None:
    """The user's names, and what was made of them where nobody else is called so."""
    new: dict[str, str] = {}
    taken: set[str] = set()
    # Plain tokens first: `x_scale` of the user's stays, and the scale of `x` makes room.
    for name in sorted(set(_names(graph)), key=Tokens.rank):
        wish = tokens.name(name)
        while wish in taken:
            wish += "_"
        new[name] = wish
        taken.add(wish)
    renamed(graph, lambda name: new[name] if name else "")
    used: set[str] = set()
    for node in every_node(graph):
        wish = tokens.name(node.name) or node.op_type
        while wish in used:
            wish += "_"
        node.name = wish
        used.add(wish)


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        yield value.name
    for node in graph.node:
        yield from (name for name in (*node.input, *node.output) if name)
        for body in bodies(node):
            yield from _names(body)


def _as_before(model: ir.Model, old: ir.Model) -> None:
    model.ir_version = old.ir_version
    model.producer_name, model.producer_version = old.producer_name, old.producer_version
    model.doc_string = old.doc_string
    model.metadata_props.clear()
    model.metadata_props.update(old.metadata_props)
    model.graph.name = old.graph.name
    used = {node.domain for node in model.graph.all_nodes()} - {"ai.onnx"}
    imports = {**model.opset_imports, **old.opset_imports}
    model.opset_imports.clear()
    model.opset_imports.update({name: imports[name] for name in {"", *used} if name in imports})
    for new, before in zip(
        (*model.graph.inputs, *model.graph.outputs), (*old.graph.inputs, *old.graph.outputs),
        strict=True,
    ):  # fmt: skip
        new.shape, new.type = before.shape, before.type
        new.doc_string = before.doc_string
        new.metadata_props.update(before.metadata_props)
