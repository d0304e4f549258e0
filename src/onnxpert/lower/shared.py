"""What all scopes of one model share: names, constants, initialisers, domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from onnxpert.core.names import Names
from onnxpert.lower.constants import constant_name
from onnxpert.lower.refusal import Refusal
from onnxpert.lower.symbols import Expr, Size, expression

_SMALL = 1024  # elements; equal constants up to this size are one initialiser


class Shared:
    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.values = Names()
        self.nodes = Names()
        self.constants: dict[Any, ir.Value] = {}
        self.initialisers: dict[str, ir.Value] = {}
        self.domains: dict[str, int] = {}
        self.dim_names: dict[Expr, str] = {}
        self.empty: dict[Expr, int] = {}  # the symbols that are 0 at the user's example
        self.keeps_nan = False  # extremes see a NaN, which takes a second look
        self.wide_integers = False  # whole numbers beyond 32 bits are computed exactly
        self.better_opset: int | None = None
        # Walks a captured subgraph into a scope: (emitter, GraphModule, inputs) -> outputs.
        self.inline: Callable[..., list[Any]] = _no_subgraphs

    def may_be_empty(self, size: Size) -> bool:
        """Whether an axis has no elements at the user's own example; a trace has at least two."""
        return bool(self.empty) and bool(expression(size).xreplace(self.empty) == 0)

    def constant(self, tensor: ir.TensorProtocol) -> ir.Value:
        """A constant by its value: equal small ones are one initialiser."""
        key: Any = None
        if tensor.size <= _SMALL:
            key = (tensor.dtype, tuple(tensor.shape), tensor.tobytes())
            if key in self.constants:
                return self.constants[key]
        value = self.initialiser(self.values.unique(constant_name(tensor)), tensor)
        if key is not None:
            self.constants[key] = value
        return value

    def initialiser(self, name: str, tensor: ir.TensorProtocol) -> ir.Value:
        """A named tensor of the file."""
        tensor.name = name
        sizes = tuple(tensor.shape.numpy())
        value = ir.Value(
            name=name,
            shape=ir.Shape(sizes),
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        value.meta["shape"] = sizes
        self.values.reserve(name)
        self.initialisers[name] = value
        return value


def _no_subgraphs(*_: Any) -> list[Any]:
    raise Refusal("a subgraph cannot be lowered on its own")
