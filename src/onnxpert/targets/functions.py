"""Operators of the standard that it also says in others: those that a runtime may put in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx
import onnx.defs
import onnx_ir as ir


def expanded(node: ir.Node, opset: int) -> ir.Model | None:
    """The body of a node's function as a model, typed as the node is; None where there is none.

    A body is written for one opset. It holds at a later one as long as none of its operators has
    changed since, and runtimes take it only then."""
    schema = onnx.defs.get_schema(node.op_type, opset, "")
    proto = ir.to_proto(node)
    kinds = [_kind(value) for value in node.inputs]
    body = _body(schema, opset)
    if body is None or not all(_is_unchanged(each.op_type, body, opset) for each in body.node):
        return None
    return ir.from_proto(_model(body, schema, proto, kinds, opset))


def _body(schema: onnx.defs.OpSchema, opset: int) -> onnx.FunctionProto | None:
    # The bindings have more than the type stubs of onnx say.
    versions: list[int] = schema.function_opset_versions  # type: ignore[attr-defined]
    newest = max((version for version in versions if version <= opset), default=None)
    if newest is None:
        return None
    found = onnx.FunctionProto()
    found.ParseFromString(schema.get_function_with_opset_version(newest))  # type: ignore[attr-defined]
    return found


def _is_unchanged(op_type: str, body: onnx.FunctionProto, opset: int) -> bool:
    written = next((each.version for each in body.opset_import if not each.domain), opset)
    try:
        before = onnx.defs.get_schema(op_type, written, "").since_version
        return bool(before == onnx.defs.get_schema(op_type, opset, "").since_version)
    except onnx.defs.SchemaError:
        return False


def _model(
    body: onnx.FunctionProto,
    schema: onnx.defs.OpSchema,
    node: onnx.NodeProto,
    kinds: list[int],
    opset: int,
) -> onnx.ModelProto:
    given = {each.name: each for each in node.attribute}
    types = {name: kind for name, kind in zip(body.input, kinds, strict=False) if kind}
    nodes = [_bound(each, given, schema) for each in body.node]
    for each in nodes:  # an input that the caller leaves out is left out here
        each.input[:] = ["" if _is_left_out(name, body, types) else name for name in each.input]
    make = onnx.helper.make_tensor_value_info
    inputs = [make(name, kind, None) for name, kind in types.items()]
    graph = onnx.helper.make_graph(nodes, node.op_type, inputs, [])
    imports = [onnx.helper.make_opsetid("", opset)]
    whole = onnx.helper.make_model(graph, opset_imports=imports)
    return onnx.shape_inference.infer_shapes(whole)


def _is_left_out(name: str, body: onnx.FunctionProto, given: Mapping[str, int]) -> bool:
    return name in body.input and name not in given


def _bound(
    node: onnx.NodeProto, given: dict[str, onnx.AttributeProto], schema: onnx.defs.OpSchema
) -> onnx.NodeProto:
    """A node of the body with the caller's attributes in the place of their names."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    for each in _attributes(node.attribute, given, schema):
        found.attribute.append(each)
    return found


def _attributes(
    named: Iterable[onnx.AttributeProto],
    given: dict[str, onnx.AttributeProto],
    schema: onnx.defs.OpSchema,
) -> Iterable[onnx.AttributeProto]:
    for each in named:
        if not each.ref_attr_name:
            yield each
            continue
        known = schema.attributes.get(each.ref_attr_name)
        value = given.get(each.ref_attr_name) or (known.default_value if known else None)
        if value is not None and value.type:
            bound = onnx.AttributeProto()
            bound.CopyFrom(value)
            bound.name = each.name
            yield bound


def _kind(value: ir.Value | None) -> int:
    return int(value.dtype) if value is not None and value.dtype is not None else 0
