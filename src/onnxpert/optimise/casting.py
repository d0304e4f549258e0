"""Nodes computed in a type that the target has a kernel for, between casts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import onnx_ir as ir

from onnxpert.targets.signature import Signature, signature

Accepts = Callable[[ir.Node, ir.DataType], bool]

_T = ir.DataType
# In the order in which they are tried: types that hold every value of the first.
WIDER = {
    _T.BOOL: (_T.UINT8, _T.INT32, _T.FLOAT),
    _T.INT8: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.UINT8: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.INT16: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.UINT16: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.UINT32: (_T.INT64,),
    _T.INT32: (_T.INT64,),
    _T.FLOAT16: (_T.FLOAT,),
    _T.BFLOAT16: (_T.FLOAT,),
}
# Those that do not: large values change.
NARROWER = {_T.INT64: (_T.INT32, _T.FLOAT), _T.UINT64: (_T.INT64,), _T.DOUBLE: (_T.FLOAT,)}
_AS_THEY_ARE = frozenset({"Cast", "CastLike", "If", "Loop", "Scan", "Constant"})
# Whether a value is zero survives any of these.
_ZERO_OR_NOT = {"NonZero": {_T.INT64: (_T.FLOAT,), _T.INT32: (_T.FLOAT,)}}


def cast(
    model: ir.Model, nodes: Collection[str], accepts: Accepts, *, narrower: bool = False
) -> bool:
    """Those of the named nodes that the target takes in another type, in that; whether any was."""
    opset = model.opset_imports.get("", 0)
    turned = False
    for node in tuple(model.graph.all_nodes()):
        found = signature(node, opset)
        if node.name not in nodes or found is None or node.op_type in _AS_THEY_ARE:
            continue
        old = _works_in(node, found)
        new = next((dtype for dtype in _offered(node, old, narrower) if accepts(node, dtype)), None)
        if old is not None and new is not None:
            _turn(node, found, old, new)
            turned = True
    return turned


def _works_in(node: ir.Node, found: Signature) -> ir.DataType | None:
    for index, value in enumerate(node.inputs):
        if value is not None and found.variable(index) == found.main:
            return value.dtype
    return None


def _offered(node: ir.Node, old: ir.DataType | None, narrower: bool) -> Iterator[ir.DataType]:
    if old is not None:
        yield from _ZERO_OR_NOT.get(node.op_type, {}).get(old, ())
        yield from WIDER.get(old, ())
        yield from NARROWER.get(old, ()) if narrower else ()


def _turn(node: ir.Node, found: Signature, old: ir.DataType, new: ir.DataType) -> None:
    graph = node.graph
    assert graph is not None
    for index, value in enumerate(node.inputs):
        if value is not None and found.variable(index) == found.main:
            before = _cast(node, value, new, f"{node.name}/in_{index}")
            graph.insert_before(node, before)
            node.replace_input_with(index, before.outputs[0])
    for index, value in enumerate(node.outputs):
        if found.variable(index, of_output=True) == found.main and value.name:
            after = _cast(node, value, old, f"{node.name}/out_{index}")
            _take_place(value, after)
            graph.insert_after(node, after)
            value.type = ir.TensorType(new)


def _cast(near: ir.Node, value: ir.Value, to: ir.DataType, name: str) -> ir.Node:
    node = ir.Node("", "Cast", [value], [ir.AttrInt64("to", to)], num_outputs=1, name=name)
    node.metadata_props.update(near.metadata_props)
    result = node.outputs[0]
    result.name, result.shape, result.type = name, value.shape, ir.TensorType(to)
    return node


def _take_place(value: ir.Value, cast: ir.Node) -> None:
    """What was read of a value is read of its cast from now on, under its name."""
    result = cast.outputs[0]
    for user, index in tuple(value.uses()):
        if user is not cast:
            user.replace_input_with(index, result)
    maker = value.producer()
    graph = maker.graph if maker is not None else None
    for index, output in enumerate(graph.outputs if graph is not None else ()):
        if output is value and graph is not None:
            graph.outputs[index] = result
    result.name, value.name = value.name, result.name
