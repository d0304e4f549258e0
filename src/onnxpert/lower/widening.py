"""bfloat16 and float8 in float32, for operators that this opset has for wider floats alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from onnxpert.lower.dtypes import FLOAT8, NARROW, SATURATING
from onnxpert.lower.schema import Schema

if TYPE_CHECKING:
    from onnxpert.lower.emitter import Emitter

Values = Sequence[ir.Value | None]
WIDE = ir.DataType.FLOAT


def widened(op: Emitter, known: Schema, values: Values) -> list[ir.Value | None] | None:
    """The inputs in float32, where the operator takes only that; None when nothing need be done."""
    kinds = {
        known.formal_input(index).type_str
        for index, value in enumerate(values)
        if value is not None and value.dtype in NARROW and not known.takes(index, value.dtype)
        if known.takes(index, WIDE)
    }
    if not kinds or known.name in {"If", "Loop", "Scan"}:  # their bodies say the types
        return None
    return [
        _converted(op, value, WIDE)
        if value is not None
        and value.dtype in NARROW
        and known.formal_input(index).type_str in kinds
        else value
        for index, value in enumerate(values)
    ]


def rounded(
    op: Emitter, results: Any, known: Schema, values: Values
) -> ir.Value | tuple[ir.Value, ...]:
    """What float32 gave, as what the inputs were again."""
    kinds = {
        known.formal_input(index).type_str: value.dtype
        for index, value in enumerate(values)
        if value is not None and value.dtype in NARROW
    }
    many = results if isinstance(results, tuple) else (results,)
    outputs = tuple(
        _converted(op, value, kinds[kind])
        if value.dtype == WIDE
        and (kind := known.outputs[min(index, len(known.outputs) - 1)].type_str) in kinds
        else value
        for index, value in enumerate(many)
    )
    return outputs if isinstance(results, tuple) else outputs[0]


def _converted(op: Emitter, value: ir.Value, dtype: ir.DataType) -> ir.Value:
    """A cast that the model does not have: a later pass may take it away with its opposite."""
    key = ("for kernels", id(value), dtype)
    found = op.find(key)
    if found is None:
        how: dict[str, Any] = {"to": dtype}
        if dtype in FLOAT8:  # whose digits are so few that none may be read wide later
            how["saturate"] = int(dtype in SATURATING)
        found = op.seen[key] = op.append("Cast", "", [value], how, 1)
        producer = found[0].producer()
        assert producer is not None
        producer.meta["for kernels"] = not {dtype, value.dtype} & FLOAT8
    return found[0]
