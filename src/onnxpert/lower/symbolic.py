"""`symbolic` methods that were written for torch's old exporter, run with a stand-in for its graph.

They are asked last: a body that can be followed is the truth, and what a symbolic says is proven like
everything else. `registration.registry` is torch's own; this use was tried on torch 2.13 and 2.15."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx.defs
import onnx_ir as ir
import torch

from onnxpert.core.bodies import FunctionCall, qualified
from onnxpert.core.source import of_exception
from onnxpert.core.types import Location, OpaqueBody
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.foreign import typed

_REGISTRATION = "torch.onnx._internal.torchscript_exporter.registration"
_SCALAR_TYPES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
}


class NotUnderstood(Refusal):
    """A symbolic did something that only the old exporter's own graph can answer."""

    def __init__(self, name: str, why: str, place: Location | None) -> None:
        super().__init__(f"its symbolic {why}")
        self.symbolic = OpaqueBody(f"`{name}` {why}", place)


def call(op: Emitter, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
    """What the symbolic of a function or an operator writes; NotImplemented when there is none."""
    written = _written_for(target, op.opset)
    if written is None:
        return NotImplemented
    name = getattr(target, "__name__", str(target))
    try:
        given = [_stand_in(op, value) for value in args]
        named = {key: _stand_in(op, value) for key, value in kwargs.items()}
        result = written(Graph(op, out), *given, **named)
    except Refusal:
        raise
    except Exception as error:  # it was written for something else, and may ask for anything
        text = str(error).partition("\n")[0]
        why = f"cannot be run here ({type(error).__name__}: {text})"
        raise NotUnderstood(f"{name}.symbolic", why, of_exception(error)) from error
    values = [_value(one, name) for one in (result if _many(result) else [result])]
    looks = [one for one in (out if _many(out) else [out]) if isinstance(one, torch.Tensor)]
    if len(values) != len(looks):
        why = f"gives {len(values)} values where the forward gives {len(looks)}"
        raise NotUnderstood(f"{name}.symbolic", why, None)
    return tuple(values) if _many(out) else values[0]


def _written_for(target: Any, opset: int) -> Callable[..., Any] | None:
    if isinstance(target, FunctionCall):
        return target.symbolic
    registration = sys.modules.get(_REGISTRATION)  # whoever registers something imports it
    name = qualified(target)
    if registration is None or not name or name.startswith("aten::"):
        return None
    group = registration.registry.get_function_group(name)
    return None if group is None else group.get(opset)


class Graph:
    """What a symbolic writes with: `g.op("Relu", x)`, `g.op("com.x::Foo", x, alpha_f=1.0)`."""

    def __init__(self, op: Emitter, out: Any) -> None:
        self._op = op
        self._out = out
        self.opset = op.opset

    def op(self, name: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        domain, _, op_type = name.rpartition("::")
        plain = dict(_attribute(key, value) for key, value in attributes.items())
        given = [_value(one, name) if isinstance(one, Value) else one for one in inputs]
        if domain in ("aten", "prim", "org.pytorch.aten"):
            raise Refusal(f"its symbolic writes {name}, which only torch itself can run")
        if domain not in ("", "ai.onnx"):
            return self._foreign(domain, op_type, given, outputs, plain)
        if op_type == "Constant":
            (held,) = plain.values()
            return Value(self._op, self._constant(held))
        given, plain = _moved(op_type, self._op.opset, given, plain)
        result = self._op.emit(op_type, *given, _outputs=outputs, **plain)
        return self._wrapped(result)

    def _constant(self, held: Any) -> ir.Value:
        tensor = isinstance(held, ir.tensor_adapters.TorchTensor)
        return self._op.const(held.raw if tensor else held)

    def _foreign(
        self, domain: str, op_type: str, given: list[Any], outputs: int, plain: dict[str, Any]
    ) -> Any:
        result = self._op.emit(op_type, *given, _domain=domain, _outputs=outputs, **plain)
        looks = self._out if _many(self._out) else [self._out]
        if len(looks) == outputs:
            # The node is the whole of it as a rule, and nothing else tells its dtypes.
            result = typed(result, looks, many=False)
        return self._wrapped(result)

    def _wrapped(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(Value(self._op, one) for one in result)
        return Value(self._op, result)


class Value:
    """A tensor as a symbolic sees it: what is known of its type, and no more."""

    def __init__(self, op: Emitter, value: ir.Value) -> None:
        self._op = op
        self.value = value

    def type(self) -> Value:
        return self

    def setType(self, _: Any) -> Value:  # noqa: N802  (torch's name)
        return self

    with_sizes = with_dtype = setType

    def isCompleteTensor(self) -> bool:  # noqa: N802  (torch's name)
        return True

    def dim(self) -> int:
        return self._op.rank(self.value)

    def sizes(self) -> list[int | None]:
        return [size if isinstance(size, int) else None for size in self._op.shape(self.value)]

    varyingSizes = sizes  # noqa: N815  (torch's name)

    def dtype(self) -> torch.dtype:
        return self._op.dtype(self.value)

    def scalarType(self) -> str | None:  # noqa: N802  (torch's name)
        return _SCALAR_TYPES.get(self.dtype())


def _stand_in(op: Emitter, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_stand_in(op, one) for one in value]
    return Value(op, value) if isinstance(value, ir.Value) else value


def _value(value: Any, name: str) -> ir.Value:
    if not isinstance(value, Value):
        raise Refusal(f"its symbolic gives {name} a {type(value).__name__}, not a value")
    return value.value


def _many(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _attribute(key: str, value: Any) -> tuple[str, Any]:
    """`alpha_f=1` is the float attribute `alpha`; the letter says which kind."""
    name, _, kind = key.rpartition("_")
    if kind == "f":
        return name, [float(one) for one in value] if _many(value) else float(value)
    if kind == "i":
        return name, [int(one) for one in value] if _many(value) else int(value)
    if kind == "s":
        return name, value
    if kind == "t":
        tensor = torch.as_tensor(value)
        return name, ir.tensor_adapters.TorchTensor(tensor.detach().contiguous())
    raise Refusal(f"its symbolic gives an attribute `{key}`, whose kind is not known")


def _moved(
    op_type: str, opset: int, inputs: list[Any], attributes: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Attributes that later opsets have as inputs (`axes`, `pads`, `split`) go where they are now."""
    try:
        known = onnx.defs.get_schema(op_type, opset)
    except onnx.defs.SchemaError:
        return inputs, attributes  # said by the emitter, in its own words
    places = {formal.name: index for index, formal in enumerate(known.inputs)}
    kept = {}
    for name, value in attributes.items():
        place = places.get(name)
        if name in known.attributes or place is None:
            kept[name] = value
            continue
        inputs = inputs + [None] * (place + 1 - len(inputs))
        inputs[place] = value
    return inputs, kept
