"""What ONNX says about its own operators, read once and kept in a form quick to ask."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import onnx.defs
import onnx_ir as ir

_TENSOR_TYPES = {
    f"tensor({name})": dtype
    for name, dtype in {
        "float": ir.DataType.FLOAT,
        "double": ir.DataType.DOUBLE,
        "float16": ir.DataType.FLOAT16,
        "bfloat16": ir.DataType.BFLOAT16,
        "int64": ir.DataType.INT64,
        "int32": ir.DataType.INT32,
        "int16": ir.DataType.INT16,
        "int8": ir.DataType.INT8,
        "uint8": ir.DataType.UINT8,
        "uint16": ir.DataType.UINT16,
        "uint32": ir.DataType.UINT32,
        "uint64": ir.DataType.UINT64,
        "bool": ir.DataType.BOOL,
        "float8e4m3fn": ir.DataType.FLOAT8E4M3FN,
        "float8e4m3fnuz": ir.DataType.FLOAT8E4M3FNUZ,
        "float8e5m2": ir.DataType.FLOAT8E5M2,
        "float8e5m2fnuz": ir.DataType.FLOAT8E5M2FNUZ,
    }.items()
}
NEWEST_OPSET = 26  # that a runtime has kernels for
_TENSOR_DTYPES = frozenset(_TENSOR_TYPES.values())


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal input or output: its type variable, and the dtype if there is only one."""

    type_str: str
    dtype: ir.DataType | None
    variadic: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """An operator at one opset."""

    name: str
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    attributes: frozenset[str]
    min_outputs: int
    deterministic: bool
    allowed: dict[str, frozenset[ir.DataType]]  # type variable -> dtypes

    def formal_input(self, index: int) -> Formal:
        return self.inputs[min(index, len(self.inputs) - 1)]

    def takes(self, index: int, dtype: ir.DataType) -> bool:
        """Whether the standard allows that dtype there."""
        if not self.inputs or dtype not in _TENSOR_DTYPES:
            return True
        formal = self.formal_input(index)
        if formal.dtype is not None:
            return formal.dtype == dtype
        allowed = self.allowed.get(formal.type_str)
        return not allowed or dtype in allowed


_RANDOM = {
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli",
    "Multinomial", "Dropout",
}  # fmt: skip


def _formal(parameter: onnx.defs.OpSchema.FormalParameter) -> Formal:
    variadic = parameter.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return Formal(parameter.type_str, _TENSOR_TYPES.get(parameter.type_str), variadic)


@functools.cache
def schema(name: str, opset: int, domain: str = "") -> Schema | None:
    """The operator as that opset has it, or None when it has not."""
    try:
        found = onnx.defs.get_schema(name, opset, domain)
    except onnx.defs.SchemaError:
        return None
    if found.deprecated:
        return None
    return Schema(
        name,
        tuple(map(_formal, found.inputs)),
        tuple(map(_formal, found.outputs)),
        frozenset(found.attributes),
        found.min_output,
        name not in _RANDOM,
        {
            constraint.type_param_str: frozenset(
                _TENSOR_TYPES[t] for t in constraint.allowed_type_strs if t in _TENSOR_TYPES
            )
            for constraint in found.type_constraints
        },
    )
