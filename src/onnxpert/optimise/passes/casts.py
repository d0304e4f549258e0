"""Casts of casts: what was only widened, or moved about, in between is cast from where it came."""

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
_FLOAT8 = frozenset({_T.FLOAT8E4M3FN, _T.FLOAT8E4M3FNUZ, _T.FLOAT8E5M2, _T.FLOAT8E5M2FNUZ})
# They give the values that they are given, in another place; how many of the inputs are values.
_MOVES = {
    "Transpose": 1, "Reshape": 1, "Expand": 1, "Slice": 1, "Gather": 1, "GatherElements": 1,
    "GatherND": 1, "Squeeze": 1, "Unsqueeze": 1, "Flatten": 1, "Tile": 1, "Split": 1, "Concat": None,
}  # fmt: skip


def shorten(model: ir.Model) -> None:
    kept: dict[ir.Value, ir.DataType] = {}  # wide values that a float8 type holds as they are
    for node in model.graph.all_nodes():
        if node.op_type in _MOVES and not node.domain:
            _follow(node, kept)
        if node.op_type != "Cast" or node.domain:
            continue
        while (before := only_input(node, "Cast")) is not None:
            origin, middle = before.inputs[0], before.outputs[0].dtype
            if origin is None or not (
                _same(origin.dtype, middle, _to(node))
                # ONNX Runtime moves transposes across such a pair, and then refuses what it made.
                or (kept.get(origin) == middle and origin.dtype == _to(node))
            ):
                break
            node.replace_input_with(0, origin)
        value = node.inputs[0]
        if value is not None and value.dtype in _FLOAT8 and _to(node) is _T.FLOAT:
            kept[node.outputs[0]] = value.dtype
        if value is not None and value.dtype == _to(node):
            bypass(node, value)


def _follow(node: ir.Node, kept: dict[ir.Value, ir.DataType]) -> None:
    kinds = {kept.get(value) for value in node.inputs[: _MOVES[node.op_type]] if value is not None}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is not None:
        kept.update(dict.fromkeys(node.outputs, kind))


def _to(node: ir.Node) -> ir.DataType:
    return ir.DataType(node.attributes["to"].as_int())


def _same(own: ir.DataType | None, middle: ir.DataType | None, to: ir.DataType) -> bool:
    """Whether the way by the middle comes to the same."""
    if own is None or middle is None or middle not in _WIDER.get(own, ()):
        return False
    # A float turned into an integer that cannot hold it is nobody's promise; integers wrap.
    return middle not in _FLOATS or own in _FLOATS or to in _FLOATS or to in {own, _T.BOOL}
