"""The emitter: what a lowering writes ONNX with. `op.Add(x, 1)` checks, folds, shares and types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower import reshaping, shapes, standard, widening
from onnxpert.lower.constants import as_tensor, natural_dtype
from onnxpert.lower.dtypes import (
    FLOAT8,
    TO_ONNX,
    TO_TORCH,
    python_kind,
    result_type,
)
from onnxpert.lower.nan_keeping import seeing
from onnxpert.lower.nodes import attribute, node_key, output_dtypes
from onnxpert.lower.older_opsets import form, rewritten
from onnxpert.lower.refusal import Refusal
from onnxpert.lower.schema import Formal, Schema, schema
from onnxpert.lower.shapes import Shape
from onnxpert.lower.shared import Shared
from onnxpert.lower.shortcuts import shortcut
from onnxpert.lower.symbols import Emission, Expr, Size, concrete, expression, same
from onnxpert.lower.wide_integers import exact

__all__ = ["Emitter", "Refusal", "Shared"]  # what a lowering needs to be written


class Emitter:
    """One scope (the graph, or the body of an If or a Loop) that is being written.

    Lowerings use:
      op.Add(x, y), op.Cast(x, to=...)     any operator of the opset; Python numbers become constants
      op.const(v, dtype), op.ints(sizes)    a constant; a 1-d int64 tensor of sizes, symbolic or not
      op.scalar(v, dtype)                   a number, SymInt or 0-d tensor as a 0-d tensor of dtype
      op.shape(x), op.rank(x), op.dtype(x)  what is known of x (sizes are int or torch.SymInt)
      op.cast(x, dtype), op.reshape(x, sizes), op.expand(x, sizes)
      op.out                                the FakeTensor(s) torch says the result is
      op.given                              the FakeTensors of a captured call's own arguments
    """

    def __init__(self, shared: Shared, parent: Emitter | None = None) -> None:
        self.shared = shared
        self.parent = parent
        self.opset = shared.opset
        self.nodes: list[ir.Node] = []
        self.out: Any = None
        self.given: Any = None
        self.seen: dict[Any, tuple[ir.Value, ...]] = {}
        self.sizes: dict[Expr, ir.Value] = {}
        self.sources: dict[Expr, tuple[ir.Value, int | None]] = {}
        self._metadata: dict[str, str] = {}
        self._prefix = ""
        self._stem = "value"

    # ---- operators -------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name[:1].isupper():
            raise AttributeError(name)
        call = functools.partial(self.emit, name)
        self.__dict__[name] = call
        return call

    def emit(
        self,
        op_type: str,
        *inputs: Any,
        _domain: str = "",
        _outputs: int = 1,
        _version: int | None = None,
        _as_it_is: bool = False,
        **attributes: Any,
    ) -> Any:
        """One node; gives its output, or a tuple when `_outputs` is not 1.

        Raises Refusal when the opset does not have the operator or the attribute."""
        other_way = None if _domain or _as_it_is else rewritten(op_type, self.opset)
        if other_way is None and inputs and not (_domain or _as_it_is):
            other_way = seeing(self, op_type, inputs[0], _outputs)
            other_way = other_way or exact(self, op_type, *inputs, **attributes)
        if other_way is not None:
            return other_way(self, *inputs, **attributes)
        known = schema(op_type, form(op_type, self.opset), "") if not _domain else None
        if known is None and not _domain:
            raise Refusal(
                f"opset {self.opset} has no {op_type}", standard.lowest_opset(op_type, self.opset)
            )
        attributes = {key: value for key, value in attributes.items() if value is not None}
        values = self._inputs(known, inputs)
        if known is not None:
            unknown = attributes.keys() - known.attributes
            if unknown:
                raise Refusal(f"{op_type} of opset {self.opset} has no attribute {sorted(unknown)}")
            wide = widening.widened(self, known, values)
            if wide is not None:
                results = self.emit(op_type, *wide, _outputs=_outputs, **attributes)
                return widening.rounded(self, results, known, values)
            standard.check(op_type, self.opset, known, values)
            short = shortcut(op_type, values, attributes) if _outputs == 1 else None
            if short is not None:
                return short if isinstance(short, ir.Value) else self.const(short)
        elif _domain:
            self.shared.domains.setdefault(_domain, _version or 1)
        key = node_key(op_type, _domain, values, attributes, _outputs)
        if key is not None and (known is None or known.deterministic):
            found = self.find(key)
            if found is not None:
                return found[0] if _outputs == 1 else found
        outputs = self.append(op_type, _domain, values, attributes, _outputs)
        if key is not None:
            self.seen[key] = outputs
        return outputs[0] if _outputs == 1 else outputs

    def append(
        self,
        op_type: str,
        domain: str,
        values: Sequence[ir.Value | None],
        attributes: Mapping[str, Any],
        outputs: int,
    ) -> tuple[ir.Value, ...]:
        """A node as it is said, unchecked and not shared."""
        known = None if domain else schema(op_type, form(op_type, self.opset))
        node = ir.Node(
            domain,
            op_type,
            values,
            [attribute(name, value) for name, value in attributes.items()],
            num_outputs=outputs,
            name=self.shared.nodes.unique(f"{self._prefix}{op_type}"),
            metadata_props=dict(self._metadata),
        )
        self.nodes.append(node)
        dtypes = output_dtypes(op_type, known, values, attributes, outputs)
        for value, dtype in zip(node.outputs, dtypes, strict=True):
            value.name = self.shared.values.unique(f"{self._stem}_{op_type}")
            if dtype is not None:
                value.dtype = dtype
        shape = shapes.infer(op_type, values, attributes)
        if shape is not None:
            node.outputs[0].meta["shape"] = shape
        return tuple(node.outputs)

    def _inputs(self, known: Schema | None, inputs: Sequence[Any]) -> list[ir.Value | None]:
        values: list[ir.Value | None] = []
        for index, given in enumerate(inputs):
            if given is None or isinstance(given, ir.Value):
                values.append(given)
                continue
            formal = known.formal_input(index) if known is not None and known.inputs else None
            values.append(self._constant_input(given, formal, known, inputs))
        while values and values[-1] is None:
            values.pop()
        return values

    def _constant_input(
        self, given: Any, formal: Formal | None, known: Schema | None, inputs: Sequence[Any]
    ) -> ir.Value:
        if formal is not None and formal.dtype is not None:
            dtype = TO_TORCH[formal.dtype]
        else:
            dtype = self._sibling_dtype(formal, known, inputs) or natural_dtype(given)
        if isinstance(given, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.scalar(given, dtype)
        if isinstance(given, (list, tuple)) and any(isinstance(i, torch.SymInt) for i in given):
            return self.ints(given)
        return self.const(given, dtype)

    def _sibling_dtype(
        self, formal: Formal | None, known: Schema | None, inputs: Sequence[Any]
    ) -> torch.dtype | None:
        if formal is None or known is None:
            return None
        for index, other in enumerate(inputs):
            typed = isinstance(other, ir.Value) and other.dtype is not None
            if typed and known.formal_input(index).type_str == formal.type_str:
                return TO_TORCH[other.dtype]
        return None

    def find(self, key: Any) -> tuple[ir.Value, ...] | None:
        """The outputs of an equal node, here or in a scope around."""
        scope: Emitter | None = self
        while scope is not None:
            if key in scope.seen:
                return scope.seen[key]
            scope = scope.parent
        return None

    def renamed(self, value: ir.Value) -> ir.Value:
        """The same tensor as another value, of which other things may be known."""
        key = ("renamed", id(value))
        found = self.find(key)
        if found is None:
            found = self.seen[key] = self.append("Identity", "", [value], {}, 1)
        return found[0]

    # ---- constants and sizes ---------------------------------------------------------------

    def const(self, value: Any, dtype: torch.dtype | None = None) -> ir.Value:
        """A constant of the model: equal ones are one initialiser."""
        if isinstance(value, torch.Tensor):
            tensor = value if dtype is None else value.to(dtype)
            return self.shared.constant(
                ir.tensor_adapters.TorchTensor(tensor.detach().contiguous())
            )
        if isinstance(value, np.ndarray):
            if dtype is None:
                return self.shared.constant(ir.tensor(value))
            value = value.tolist()
        # torch converts as its own operators do: 2**40 to int32, 1e300 to float16, -1 to uint8.
        return self.shared.constant(
            ir.tensor_adapters.TorchTensor(as_tensor(value, dtype or natural_dtype(value)))
        )

    def initialiser(self, name: str, tensor: ir.TensorProtocol) -> ir.Value:
        """A named tensor of the file."""
        return self.shared.initialiser(name, tensor)

    def ints(self, sizes: Iterable[Size]) -> ir.Value:
        """A 1-d int64 tensor of sizes; neighbours that are known go into one constant."""
        pieces: list[ir.Value] = []
        run: list[int] = []
        for size in map(concrete, sizes):
            if isinstance(size, int):
                run.append(size)
                continue
            if run:
                pieces.append(self.const(run, torch.int64))
                run = []
            pieces.append(
                self.reshape(self.cast(size, torch.int64), (1,))
                if isinstance(size, ir.Value)
                else self.size_of(expression(size))
            )
        if run or not pieces:
            pieces.append(self.const(run, torch.int64))
        return pieces[0] if len(pieces) == 1 else self.Concat(*pieces, axis=0)

    def scalar(self, value: Any, dtype: torch.dtype | None = None) -> ir.Value:
        """A number, symbol or tensor as a tensor of `dtype`; numbers and symbols are 0-d."""
        if isinstance(value, ir.Value):
            return value if dtype is None else self.cast(value, dtype)
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            expr = expression(value)
            if expr.is_number and not isinstance(value, torch.SymBool):
                number = int(expr) if isinstance(value, torch.SymInt) else float(expr)
                return self.const(number, dtype)
            flat = self.cast(self.size_of(expr), dtype or python_kind(value))
            return self.Squeeze(flat, self.const([0], torch.int64))
        return self.const(value, dtype)

    def bind(self, symbol: Expr, value: ir.Value, axis: int | None) -> None:
        """A symbol is the size of `value` along `axis`, or (None) the value itself, an int64."""
        if self._source(symbol) is None:
            self.sources[symbol] = (value, axis)

    def bind_number(self, expr: Expr, value: ir.Value) -> None:
        """What only the data know is the value itself, if it is a symbol of its own."""
        if expr.is_Symbol:
            self.bind(expr, value, None)
        elif expr.is_Relational and expr.lhs.is_Symbol:
            # torch takes a truth value for a number that is compared with 1.
            self.bind(expr.lhs, self.cast(value, torch.int64), None)

    def knows(self, symbol: Expr) -> bool:
        return self._source(symbol) is not None

    def _source(self, symbol: Expr) -> tuple[ir.Value, int | None] | None:
        scope: Emitter | None = self
        while scope is not None:
            if symbol in scope.sources:
                return scope.sources[symbol]
            scope = scope.parent
        return None

    def size_of(self, expr: Expr) -> ir.Value:
        """An expression of sizes as a tensor of shape [1], computed once per scope."""
        scope: Emitter | None = self
        while scope is not None:
            if expr in scope.sizes:
                return scope.sizes[expr]
            scope = scope.parent
        value = self._read(expr) if expr.is_Symbol else Emission(self).emit(expr)
        self.sizes[expr] = value
        return value

    def _read(self, symbol: Expr) -> ir.Value:
        source = self._source(symbol)
        if source is None:
            raise Refusal(f"the size {symbol} is not known at this place of the graph")
        value, axis = source
        if axis is None:
            return self.reshape(value, (1,))
        if self.opset >= 15:
            return self.Shape(value, start=axis, end=axis + 1)
        return self.Gather(self.Shape(value), self.const([axis], torch.int64), axis=0)

    # ---- what is known of a value ----------------------------------------------------------

    def shape(self, value: ir.Value) -> Shape:
        known = value.meta.get("shape")
        if known is None:
            raise Refusal(f"the shape of {value.name} is not known here")
        return tuple(map(concrete, known))

    def rank(self, value: ir.Value) -> int:
        return len(self.shape(value))

    def dtype(self, value: ir.Value) -> torch.dtype:
        if value.dtype is None:
            raise Refusal(f"the dtype of {value.name} is not known here")
        return TO_TORCH[value.dtype]

    def describe(
        self, value: ir.Value, sizes: Sequence[Size], dtype: torch.dtype | None = None
    ) -> ir.Value:
        """Say what only the lowering knows: the shape (and dtype) of a value it made."""
        value.meta["shape"] = tuple(map(concrete, sizes))
        if dtype is not None:
            value.dtype = TO_ONNX[dtype]
        return value

    def result_type(self, *values: Any) -> torch.dtype:
        """torch's promotion over tensors and Python numbers."""
        return result_type(
            *(
                (self.dtype(value), self.rank(value)) if isinstance(value, ir.Value) else value
                for value in values
                if value is not None
            )
        )

    # ---- small steps every family needs ----------------------------------------------------

    def cast(self, value: ir.Value, dtype: torch.dtype) -> ir.Value:
        if dtype not in TO_ONNX:
            raise Refusal(f"ONNX has no {dtype}")
        if dtype is torch.bool and value.dtype in FLOAT8:
            # ONNX Runtime 1.31 takes the -0 of float8 for true.
            return self.Not(self.Equal(self.cast(value, torch.float32), 0.0))
        return self.Cast(value, to=TO_ONNX[dtype])

    def reshape(self, value: ir.Value, sizes: Sequence[Size]) -> ir.Value:
        """Another shape of the same elements, with as little shape arithmetic as can be."""
        wanted = tuple(map(concrete, sizes))
        origin = reshaping.origin(value)
        before = origin.meta.get("shape")
        if before is not None and shapes.equal(tuple(before), wanted):
            return origin
        target = self.ints(reshaping.target(before, wanted))
        zeros_are_meant = reshaping.means_zeros(wanted) and self.opset >= 14
        result = self.Reshape(origin, target, allowzero=1 if zeros_are_meant else None)
        return self.describe(result, wanted)

    def expand(self, value: ir.Value, sizes: Sequence[Size]) -> ir.Value:
        wanted = tuple(map(concrete, sizes))
        before = value.meta.get("shape")
        if before is not None and shapes.equal(tuple(before), wanted):
            return value
        own = (1,) * len(wanted) if before is None else tuple(before)
        own = (1,) * (len(wanted) - len(own)) + own
        # Expand broadcasts both ways: a size that stays need not be asked for.
        target = [1 if same(x, y) else y for x, y in zip(own, wanted, strict=True)]
        return self.describe(self.Expand(value, self.ints(target)), wanted)

    def unsqueeze(self, value: ir.Value, *axes: int) -> ir.Value:
        return self.Unsqueeze(value, self.const(list(axes), torch.int64))

    def squeeze(self, value: ir.Value, *axes: int) -> ir.Value:
        return self.Squeeze(value, self.const(list(axes), torch.int64))

    def reduce(self, name: str, value: ir.Value, axes: Sequence[int], keepdims: bool) -> ir.Value:
        """`ReduceX`, whose axes moved from attribute to input at opset 18 (13 for ReduceSum).

        No axes means all of them."""
        axes = list(axes) or list(range(self.rank(value)))
        if any(axis < 0 for axis in axes):  # ONNX Runtime takes these wrongly on empty tensors
            axes = [axis % self.rank(value) for axis in axes]
        if not axes:  # 0-d: nothing to reduce over, and ONNX wants at least what it reads
            flat = self.reshape(value, (1,))
            return self.reshape(self.reduce(name, flat, [0], True), ())
        if self.opset >= 18 or name == "ReduceSum":
            return self.emit(name, value, self.const(axes, torch.int64), keepdims=int(keepdims))
        return self.emit(name, value, axes=axes, keepdims=int(keepdims))

    def split(self, value: ir.Value, sizes: Sequence[Size], axis: int) -> tuple[ir.Value, ...]:
        if len(sizes) == 1:
            return (value,)
        outputs = self.emit("Split", value, self.ints(sizes), axis=axis, _outputs=len(sizes))
        before = self.shape(value)
        axis %= len(before)
        for output, size in zip(outputs, sizes, strict=True):
            self.describe(output, (*before[:axis], size, *before[axis + 1 :]))
        return outputs

    # ---- scopes ----------------------------------------------------------------------------

    def at(self, metadata: dict[str, str], module: str, stem: str) -> None:
        """From here on nodes come from this source line, module and captured node."""
        self._metadata = metadata
        self._prefix = f"{module.replace('.', '/')}/" if module else ""
        self._stem = stem

    def scope(self) -> Emitter:
        """An emitter for the body of a control-flow operator; it sees all that this one has made."""
        inner = Emitter(self.shared, self)
        inner.at(self._metadata, self._prefix.rstrip("/"), self._stem)
        return inner
