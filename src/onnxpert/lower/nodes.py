"""Nodes before they are made: their attributes, what makes two of them one, the dtypes they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxpert.lower.schema import Schema

_ATTRIBUTES: dict[type[Any], Callable[[str, Any], ir.Attr]] = {
    bool: lambda name, value: ir.AttrInt64(name, int(value)),
    int: ir.AttrInt64,
    float: ir.AttrFloat32,
    str: ir.AttrString,
    ir.DataType: lambda name, value: ir.AttrInt64(name, int(value)),
}


def attribute(name: str, value: Any) -> ir.Attr:
    """Straight from the type: onnx-ir's own conversion tries every protocol on every value."""
    if isinstance(value, ir.Attr):
        return value
    make = _ATTRIBUTES.get(type(value))
    if make is not None:
        return make(name, value)
    if isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
        return ir.AttrInt64s(name, list(value))
    return ir.convenience.convert_attribute(name, value)


def node_key(
    op_type: str,
    domain: str,
    values: Sequence[ir.Value | None],
    attributes: Mapping[str, Any],
    outputs: int,
) -> Any:
    marks = []
    for name, value in attributes.items():
        if isinstance(value, (ir.Graph, ir.Attr)) or hasattr(value, "numpy"):
            return None  # bodies and tensors: rare, and not worth comparing
        marks.append((name, tuple(value) if isinstance(value, (list, tuple)) else value))
    return (op_type, domain, outputs, *map(id, values), *marks)


_BOOL_RESULT = frozenset(
    [
        "Equal",
        "Less",
        "Greater",
        "LessOrEqual",
        "GreaterOrEqual",
        "Not",
        "And",
        "Or",
        "Xor",
        "IsNaN",
        "IsInf",
    ]
)


_LIKE_INPUT = frozenset(["EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli"])


def output_dtypes(
    op_type: str,
    known: Schema | None,
    values: Sequence[ir.Value | None],
    attributes: Mapping[str, Any],
    outputs: int,
) -> list[ir.DataType | None]:
    """By the operator's own type variables; `to`/`dtype` attributes win."""
    if op_type in _BOOL_RESULT:
        return [ir.DataType.BOOL] * outputs
    if known is None:
        first = next((v.dtype for v in values if v is not None), None)
        return [first] * outputs
    if op_type == "Cast":
        return [ir.DataType(attributes["to"])]
    bound: dict[str, ir.DataType | None] = {}
    for index, value in enumerate(values):
        if value is not None and value.dtype is not None:
            bound.setdefault(known.formal_input(index).type_str, value.dtype)
    result: list[ir.DataType | None] = []
    for index in range(outputs):
        formal = known.outputs[min(index, len(known.outputs) - 1)]
        dtype = formal.dtype or bound.get(formal.type_str)
        if dtype is None and len(known.allowed.get(formal.type_str, ())) == 1:
            (dtype,) = known.allowed[formal.type_str]
        if index == 0 and isinstance(attributes.get("dtype"), (int, ir.DataType)):
            dtype = ir.DataType(attributes["dtype"])
        elif dtype is None and op_type in _LIKE_INPUT and values and values[0] is not None:
            dtype = values[0].dtype
        elif dtype is None and op_type == "DequantizeLinear" and values[1] is not None:
            dtype = values[1].dtype  # since opset 23 a variable of its own
        elif dtype is None and op_type == "ConstantOfShape":
            dtype = getattr(attributes.get("value"), "dtype", ir.DataType.FLOAT)
        elif dtype is None and op_type.endswith("LayerNormalization"):
            dtype = ir.DataType(attributes.get("stash_type", ir.DataType.FLOAT))
        result.append(dtype)
    return result
