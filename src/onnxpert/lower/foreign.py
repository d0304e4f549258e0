"""Nodes of a domain that is not ONNX's own: how a call becomes one, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.core.looks import is_write
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.storages import has_new_results


def as_node(
    op: Emitter,
    target: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    out: Any,
    domain: str,
) -> Any:
    """The call as one node: tensors are its inputs, everything else its attributes.

    What the operator writes in place comes out of the node behind its results, in the order of its
    arguments."""
    formal = target._schema.arguments
    given = {argument.name: value for argument, value in zip(formal, args, strict=False)}
    given.update(kwargs)
    inputs: list[Any] = []
    attributes: dict[str, Any] = {}
    for argument in formal:
        value = given.get(argument.name, argument.default_value)
        if "Tensor" in str(argument.type):
            inputs += value if isinstance(value, (list, tuple)) else [value]
        elif value is not None:
            attributes[argument.name] = _attribute(argument.name, value)
    looks = list(_looks(target, op.given, out))
    if not looks:
        raise Refusal("it gives no tensor")
    name, version = with_version(domain)
    values = op.emit(
        _op_type(target), *inputs, _domain=name, _version=version, _outputs=len(looks), **attributes
    )
    return typed(values, looks, many=isinstance(out, (list, tuple)))


def typed(values: Any, looks: Sequence[Any], *, many: bool) -> Any:
    """The outputs of a node of which nobody but torch knows the dtypes."""
    each = values if isinstance(values, tuple) else (values,)
    for value, look in zip(each, looks, strict=True):
        value.dtype = TO_ONNX[look.dtype]
        value.meta["shape"] = tuple(look.shape)
    return each if many or len(each) > 1 else each[0]


def with_version(domain: str) -> tuple[str, int]:
    """`com.example@2` is version 2 of the domain; without a number it is the first."""
    name, _, version = domain.partition("@")
    return name, int(version or 1)


def _op_type(target: Any) -> str:
    overload = target._schema.overload_name
    name = target._schema.name.partition("::")[2]
    return f"{name}_{overload}" if overload else str(name)


def _attribute(name: str, value: Any) -> Any:
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) or (
        isinstance(value, (list, tuple)) and any(isinstance(v, torch.SymInt) for v in value)
    ):
        raise Refusal(f"its argument `{name}` is a dynamic size, and a node's attribute is fixed")
    if isinstance(value, torch.dtype):
        return int(TO_ONNX[value])
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and value:
        return list(value)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (list, tuple)):
        return ir.AttrInt64s(name, [])
    raise Refusal(f"its argument `{name}` is a {type(value).__name__}, which no attribute can hold")


def _looks(target: Any, fakes: Any, out: Any) -> Iterator[Any]:
    """What torch says of each output: of what it returns, then of what it writes."""
    if not is_write(target) or has_new_results(target):
        for value in out if isinstance(out, (list, tuple)) else [out]:
            if isinstance(value, torch.Tensor):
                yield value
    if is_write(target):
        for index, argument in enumerate(target._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                if index >= len(fakes or ()):
                    raise Refusal(f"what it writes into `{argument.name}` is given by keyword")
                written = fakes[index]
                yield from written if isinstance(written, (list, tuple)) else [written]
