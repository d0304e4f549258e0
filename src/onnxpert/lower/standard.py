"""What the standard allows at an opset: a node it would not take is refused before it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir

from onnxpert.lower.constants import array_of
from onnxpert.lower.older_opsets import is_moved
from onnxpert.lower.refusal import Refusal
from onnxpert.lower.schema import NEWEST_OPSET, Schema, schema

Values = Sequence[ir.Value | None]


def check(op_type: str, opset: int, known: Schema, values: Values) -> None:
    """Raises Refusal, with the opset that would take the node if there is one."""
    _check_dtypes(op_type, opset, known, values)
    _check_count(op_type, opset, known, values)


def lowest_opset(
    op_type: str, above: int, suits: Callable[[Schema], bool] = lambda _: True
) -> int | None:
    """The first opset above this one whose form of the operator suits."""
    later = ((opset, schema(op_type, opset)) for opset in range(above + 1, NEWEST_OPSET + 1))
    return next((opset for opset, known in later if known is not None and suits(known)), None)


def _check_dtypes(op_type: str, opset: int, known: Schema, values: Values) -> None:
    for index, value in enumerate(values):
        dtype = None if value is None else value.dtype
        if dtype is None or known.takes(index, dtype):
            continue
        raise Refusal(
            f"{op_type} of opset {opset} does not take {dtype.name.lower()}",
            lowest_opset(op_type, opset, lambda later: later.takes(index, dtype)),  # noqa: B023
        )


def _check_count(op_type: str, opset: int, known: Schema, values: Values) -> None:
    """Inputs that the operator only has in newer opsets."""
    if is_moved(op_type, opset) and len(values) > 1 and array_of(values[1]) is None:
        raise Refusal(f"{op_type} of opset {opset} takes no computed numbers", 13)
    variadic = bool(known.inputs) and known.inputs[-1].variadic
    if not variadic and len(values) > len(known.inputs):
        raise Refusal(
            f"{op_type} of opset {opset} has {len(known.inputs)} inputs",
            lowest_opset(op_type, opset, lambda later: len(later.inputs) >= len(values)),
        )
