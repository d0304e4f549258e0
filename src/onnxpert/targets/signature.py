"""What the standard says of a node's types, in the words that kernels are registered with."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx.defs
import onnx_ir as ir

_NAMES = {dtype: dtype.name.lower() for dtype in ir.DataType}


@dataclass(frozen=True, slots=True)
class Signature:
    """An operator in one version: its type variables, and whether it can be taken apart."""

    since: int
    inputs: tuple[str, ...]  # the type variable of each; the last one's repeats
    outputs: tuple[str, ...]
    is_function: bool
    allowed: Mapping[str, frozenset[str]]  # type variable -> what it may be
    by_context: bool = False  # a function whose body depends on attributes and types

    def types(
        self, node: ir.Node, instead: Mapping[ir.DataType, ir.DataType] | None = None
    ) -> dict[str, str]:
        """Type variable -> `tensor(bfloat16)`, with some dtypes replaced."""
        found: dict[str, str] = {}
        for formals, values in ((self.inputs, node.inputs), (self.outputs, node.outputs)):
            for index, value in enumerate(values):
                if value is None or value.dtype is None or not formals:
                    continue
                dtype = (instead or {}).get(value.dtype, value.dtype)
                found.setdefault(formals[min(index, len(formals) - 1)], _written(value.type, dtype))
        return found

    @property
    def main(self) -> str:
        """The variable of the type it works in: of what it gives, else of what it reads."""
        result = self.outputs[0] if self.outputs else ""
        return result if result in self.inputs or not self.inputs else self.inputs[0]

    def variable(self, index: int, *, of_output: bool = False) -> str:
        """Of an input or output by its place; the last one's repeats."""
        formals = self.outputs if of_output else self.inputs
        return formals[min(index, len(formals) - 1)] if formals else ""

    def allows(self, types: Mapping[str, str]) -> bool:
        """Whether the standard has the operator with such types."""
        return all(kind in self.allowed.get(name, (kind,)) for name, kind in types.items())


def _written(kind: ir.TypeProtocol | None, dtype: ir.DataType) -> str:
    """`tensor(float)`, `seq(tensor(float))`, `optional(seq(tensor(float)))`."""
    for name, holder in (("seq", ir.SequenceType), ("optional", ir.OptionalType)):
        if isinstance(kind, holder):
            return f"{name}({_written(kind.elem_type, dtype)})"
    return f"tensor({_NAMES[dtype]})"


def signature(node: ir.Node, opset: int) -> Signature | None:
    """None for what the standard does not have."""
    return None if node.domain else _read(node.op_type, opset)


@functools.cache
def _read(op_type: str, opset: int) -> Signature | None:
    try:
        schema = onnx.defs.get_schema(op_type, opset, "")
    except onnx.defs.SchemaError:
        return None
    return Signature(
        schema.since_version,
        _variables(schema.inputs),
        _variables(schema.outputs),
        # onnx has them without saying so in its type stubs.
        bool(schema.has_function or schema.has_context_dependent_function),  # type: ignore[attr-defined]
        {
            each.type_param_str: frozenset(each.allowed_type_strs)
            for each in schema.type_constraints
        },
        bool(schema.has_context_dependent_function),  # type: ignore[attr-defined]
    )


def _variables(formals: Sequence[onnx.defs.OpSchema.FormalParameter]) -> tuple[str, ...]:
    return tuple(formal.type_str for formal in formals)
