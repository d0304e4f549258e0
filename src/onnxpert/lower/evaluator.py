"""What onnxscript's functions are run with: each operator they call becomes a node of ours."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_TORCH
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.schema import Schema, schema
from onnxpert.lower.symbols import expression

# The same name with another meaning since: torchlib's call of it would say something else.
_CHANGED = {"DFT": 20, "GridSample": 20, "GroupNormalization": 21}
_FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


class Operand:
    """A value as onnxscript's functions see one: with a shape, a dtype and Python's operators."""

    __hash__ = object.__hash__

    def __init__(self, evaluator: Evaluator, value: ir.Value) -> None:
        self._evaluator = evaluator
        self.value = value

    @property
    def name(self) -> str | None:
        return self.value.name

    @property
    def dtype(self) -> ir.DataType | None:
        return self.value.dtype

    @dtype.setter
    def dtype(self, dtype: ir.DataType) -> None:
        self.value.dtype = ir.DataType(dtype)

    @property
    def type(self) -> ir.TypeProtocol | None:
        return self.value.type

    @property
    def shape(self) -> ir.Shape | None:
        sizes = self.value.meta.get("shape")
        if sizes is None:
            return None
        # An open size is a name to torchlib; two names are two sizes.
        return ir.Shape([s if isinstance(s, int) else str(expression(s)) for s in sizes])

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def __repr__(self) -> str:
        return str(self.value.name)

    def __bool__(self) -> bool:
        raise TypeError("it asks for the value of a tensor")

    def _emit(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        return self._evaluator.emit(name, inputs, attributes)

    def __mod__(self, other: Any) -> Any:
        return self._emit("Mod", self, other, fmod=int(self.dtype in _FLOATS))

    def __eq__(self, other: object) -> Any:
        return self._emit("Equal", self, other)

    def __ne__(self, other: object) -> Any:
        return self._emit("Not", self._emit("Equal", self, other))

    def __neg__(self) -> Any:
        return self._emit("Neg", self)

    def __invert__(self) -> Any:
        return self._emit("Not", self)

    def __add__(self, other: Any) -> Any:
        return self._emit("Add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._emit("Add", other, self)

    def __and__(self, other: Any) -> Any:
        return self._emit("And", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._emit("And", other, self)

    def __or__(self, other: Any) -> Any:
        return self._emit("Or", self, other)

    def __mul__(self, other: Any) -> Any:
        return self._emit("Mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._emit("Mul", other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._emit("MatMul", self, other)

    def __pow__(self, other: Any) -> Any:
        return self._emit("Pow", self, other)

    def __sub__(self, other: Any) -> Any:
        return self._emit("Sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._emit("Sub", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._emit("Div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._emit("Div", other, self)

    def __lt__(self, other: Any) -> Any:
        return self._emit("Less", self, other)

    def __le__(self, other: Any) -> Any:
        return self._emit("LessOrEqual", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._emit("GreaterOrEqual", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._emit("Greater", self, other)


class Evaluator:
    """An evaluator by onnxscript's protocol (`eval_op`, `eval_function`) over one emitter."""

    def __init__(self, op: Emitter) -> None:
        self.op = op

    def eval_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if op.domain:
            raise Refusal(f"torchlib's lowering calls {op.domain}::{op.name}")
        return self.emit(op.name, args, _told(op.op_schema, kwargs))

    def eval_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The body, run as Python: what a function calls lands here again, node by node."""
        if function.name == "Rank":
            return args[0].rank
        if function.name == "IsScalar":
            return args[0].rank == 0
        body = function.func if hasattr(function, "func") else function.function
        return body(*args, **kwargs)

    def wrap(self, value: Any) -> Any:
        """Values and symbols as operands; numbers stay Python's."""
        if isinstance(value, ir.Value):
            return Operand(self, value)
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return Operand(self, self.op.scalar(value))
        return [self.wrap(item) for item in value] if isinstance(value, (list, tuple)) else value

    def unwrap(self, value: Any) -> Any:
        if isinstance(value, Operand):
            return value.value
        return tuple(map(self.unwrap, value)) if isinstance(value, (list, tuple)) else value

    # ---- operators -------------------------------------------------------------------------

    def emit(self, name: str, args: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, *args, **attributes)
        if self.op.opset >= _CHANGED.get(name, 99):
            raise Refusal(f"{name} has another form since opset {_CHANGED[name]}")
        if "Sequence" in name:
            raise Refusal("torchlib's lowering makes a sequence")
        known = schema(name, self.op.opset)
        inputs = self._inputs(known, args)
        count = _output_count(name, known, args, attributes)
        result = self.op.emit(name, *inputs, _outputs=count, **attributes)
        return self.wrap(list(result) if isinstance(result, tuple) else result)

    def _inputs(self, known: Schema | None, args: Sequence[Any]) -> list[Any]:
        """Operands as values, lists of sizes as one; numbers take their neighbours' dtype."""
        inputs = [self._input(arg) for arg in args]
        if known is None:
            return inputs  # the emitter says that there is no such operator
        seen: dict[str, ir.DataType] = {}
        for index, value in enumerate(inputs):
            if not isinstance(value, ir.Value) or value.dtype is None:
                continue
            variable = known.formal_input(index).type_str
            allowed = known.allowed.get(variable)
            kind = value.dtype.name.lower()
            if allowed and value.dtype not in allowed:
                raise Refusal(f"torchlib's lowering gives {known.name} a {kind}")
            if seen.setdefault(variable, value.dtype) != value.dtype and _homogeneous(known):
                other = seen[variable].name.lower()
                raise Refusal(f"torchlib's lowering gives {known.name} {other} and {kind}")
        return inputs

    def _input(self, arg: Any) -> Any:
        if isinstance(arg, Operand):
            return arg.value
        if isinstance(arg, (list, tuple)) and any(isinstance(item, Operand) for item in arg):
            return self.op.ints([self.unwrap(item) for item in arg])
        if isinstance(arg, ir.TensorProtocol):
            return self.op.const(arg.numpy())
        return list(arg) if isinstance(arg, tuple) else arg

    # ---- operators that are known without a node ---------------------------------------------

    def constant(self, **attributes: Any) -> Operand:
        ((kind, value),) = ((k, v) for k, v in attributes.items() if v is not None)
        value = value.value if isinstance(value, ir.Attr) else value
        if isinstance(value, onnx.TensorProto):
            value = ir.serde.deserialize_tensor(value)
        if isinstance(value, ir.TensorProtocol):
            return Operand(self, self._tensor(value))
        dtype = torch.float32 if kind.startswith("value_float") else torch.int64
        if kind.startswith("value_string"):
            raise Refusal("torchlib's lowering makes a string")
        return Operand(self, self.op.const(value, dtype))

    def _tensor(self, tensor: ir.TensorProtocol) -> ir.Value:
        array = np.asarray(tensor.numpy())
        if tensor.dtype in (ir.DataType.BFLOAT16,):
            return self.op.const(array.astype(np.float32).tolist(), TO_TORCH[tensor.dtype])
        return self.op.const(array)

    def shape(self, data: Operand, start: int = 0, end: int | None = None) -> Any:
        sizes = data.value.meta.get("shape")
        if sizes is not None:
            wanted = list(sizes)[start:end]
            if all(isinstance(size, int) for size in wanted):
                return Operand(self, self.op.const(wanted, torch.int64))
        return Operand(self, self.op.Shape(data.value, start=start or None, end=end))

    def size(self, data: Operand) -> Any:
        sizes = data.value.meta.get("shape")
        if sizes is not None and all(isinstance(size, int) for size in sizes):
            return Operand(self, self.op.const(int(np.prod(sizes, dtype=np.int64)), torch.int64))
        return Operand(self, self.op.Size(data.value))

    def cast_like(self, data: Any, like: Any, **_: Any) -> Any:
        if not isinstance(like, Operand) or like.dtype is None:
            raise Refusal("torchlib's lowering casts to a dtype that is not known")
        return self._cast(data, like.dtype)

    def cast(self, data: Any, to: Any, **_: Any) -> Any:
        return self._cast(data, ir.DataType(int(to)))

    def _cast(self, data: Any, dtype: ir.DataType) -> Operand:
        if dtype not in TO_TORCH:
            raise Refusal(f"torchlib's lowering casts to {dtype.name.lower()}")
        value = self._input(data)
        wanted = TO_TORCH[dtype]
        if isinstance(value, ir.Value):
            return Operand(self, self.op.cast(value, wanted))
        return Operand(self, self.op.const(value, wanted))


_SPECIAL: dict[str, Any] = {
    "Constant": Evaluator.constant,
    "Shape": Evaluator.shape,
    "Size": Evaluator.size,
    "Cast": Evaluator.cast,
    "CastLike": Evaluator.cast_like,
}


def _homogeneous(known: Schema) -> bool:
    """Only operators of the Loop kind take mixed types under one name, and torchlib calls none."""
    return bool(known.inputs)


def _output_count(
    name: str, known: Schema | None, args: Sequence[Any], attributes: Mapping[str, Any]
) -> int:
    """How many results torchlib takes from a call: all that the operator can give, but for two."""
    if name == "BatchNormalization" and not attributes.get("training_mode"):
        return 1
    if name == "Split":
        if attributes.get("num_outputs"):
            return int(attributes["num_outputs"])
        if len(args) > 1 and isinstance(args[1], (list, tuple)):
            return len(args[1])
        raise Refusal("torchlib's lowering splits into a number of parts that is not known")
    return len(known.outputs) if known is not None else 1


def _told(known: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that are more than their default."""
    defaults = _defaults(known.name, known.since_version)
    return {
        name: value
        for name, value in attributes.items()
        if value is not None and not (name in defaults and defaults[name] == value)
    }


@functools.cache
def _defaults(name: str, since: int) -> dict[str, Any]:
    known = onnx.defs.get_schema(name, since, "")
    found = {}
    for attribute in known.attributes.values():
        if attribute.default_value.type:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            found[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return found
