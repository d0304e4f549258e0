"""Casts of casts: what was only widened in between is cast from where it came."""

from __future__ import annotations

import onnx_ir as ir

from onnxpert.optimise.rewiring import bypass, only_input

_T = ir.DataType
_FLOATS = frozenset({_T.FLOAT16, _T.BFLOAT16, _T.FLOAT, _T.DOUBLE})
# Every value of the first is a value of each of the others.
_WIDER: dict[ir.DataType, frozenset[ir.DataType]] = {
    _T.BOOL: _FLOATS | {_T.INT8, _T.UINT8, _T.INT16, _T.UINT16, _T.INT32, _T.INT64},
    _T.UINT8: _FLOATS | {_T.INT16, _T.UINT16, _T.INT32, _T.INT64},
    _T.INT8: _FLOATS | {_T.INT16, _T.INT32, _T.INT64},
    _T.UINT16: frozenset({_T.FLOAT, _T.DOUBLE, _T.INT32, _T.INT64}),
    _T.INT16: frozenset({_T.FLOAT, _T.DOUBLE, _T.INT32, _T.INT64}),
    _T.INT32: frozenset({_T.DOUBLE, _T.INT64}),
    _T.FLOAT16: frozenset({_T.FLOAT, _T.DOUBLE}),
    _T.BFLOAT16: frozenset({_T.FLOAT, _T.DOUBLE}),
    _T.FLOAT: frozenset({_T.DOUBLE}),
}


def shorten(model: ir.Model) -> None:
    for node in model.graph.all_nodes():
        if node.op_type != "Cast" or node.domain:
            continue
        while (before := only_input(node, "Cast")) is not None:
            origin = before.inputs[0]
            if origin is None or not _same(origin.dtype, before.outputs[0].dtype, _to(node)):
                break
            node.replace_input_with(0, origin)
        value = node.inputs[0]
        if value is not None and value.dtype == _to(node):
            bypass(node, value)


def _to(node: ir.Node) -> ir.DataType:
    return ir.DataType(node.attributes["to"].as_int())


def _same(own: ir.DataType | None, middle: ir.DataType | None, to: ir.DataType) -> bool:
    """Whether the way by the middle comes to the same."""
    if own is None or middle is None or middle not in _WIDER.get(own, ()):
        return False
    # A float turned into an integer that cannot hold it is nobody's promise; integers wrap.
    return middle not in _FLOATS or own in _FLOATS or to in _FLOATS or to in {own, _T.BOOL}
