"""The functional form of what writes: `add_` and `add.out` are `add`, and so is nearly every one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

aten = torch.ops.aten

_SPECIAL: dict[Any, Any] = {
    aten.__ior__.Tensor: aten.bitwise_or.Tensor,
    aten.__ior__.Scalar: aten.bitwise_or.Scalar,
    aten.__iand__.Tensor: aten.bitwise_and.Tensor,
    aten.__iand__.Scalar: aten.bitwise_and.Scalar,
    aten.__ixor__.Tensor: aten.bitwise_xor.Tensor,
    aten.__ixor__.Scalar: aten.bitwise_xor.Scalar,
    aten.__ilshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__ilshift__.Scalar: aten.bitwise_left_shift.Tensor_Scalar,
    aten.__irshift__.Tensor: aten.bitwise_right_shift.Tensor,
    aten.__irshift__.Scalar: aten.bitwise_right_shift.Tensor_Scalar,
    aten.normal_.default: aten.normal_functional.default,
    aten._native_batch_norm_legit.default: aten._native_batch_norm_legit_functional.default,
    aten._batch_norm_with_update.default: aten._batch_norm_with_update_functional.default,
}
# What these leave behind has another size, or other memory: no value of a graph can say it.
_NEVER = frozenset({aten.resize_.default, aten.resize_as_.default, aten.set_.source_Tensor})


@dataclass(frozen=True, slots=True)
class Form:
    """The overload that gives the result, and the keywords that name where it was to go."""

    target: Any
    places: frozenset[str] = frozenset()


@functools.cache
def functional(target: Any) -> Form | None:
    """The form that gives the result instead of writing it, or None."""
    if target in _SPECIAL:
        return Form(_SPECIAL[target])
    if target in _NEVER:
        return None
    written = [
        argument.name
        for argument in target._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    namespace, _, name = target._schema.name.partition("::")
    if name.endswith("_") and not name.endswith("__"):
        packet = getattr(getattr(torch.ops, namespace), name[:-1], None)
        found = _sibling(packet, target, ())
        return None if found is None else Form(found)
    if not all(a.kwarg_only for a in target._schema.arguments if a.name in written):
        return None
    found = _sibling(target.overloadpacket, target, written)
    return None if found is None else Form(found, frozenset(written))


def _sibling(packet: Any, target: Any, without: Any) -> Any | None:
    """The overload that takes the same but for some arguments, and writes nothing."""
    if packet is None:
        return None
    wanted = _types(target, without)
    same_name = (
        getattr(packet, target._schema.overload_name or "default", None) if not without else None
    )
    for overload in ([] if same_name is None else [same_name]) + list(_overloads(packet)):
        if not overload._schema.is_mutable and _types(overload, ()) == wanted:
            return overload
    return None


def _overloads(packet: Any) -> Iterator[Any]:
    for name in packet.overloads():
        yield getattr(packet, name)


# What a new tensor is asked for and a given one has.
_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


def _types(overload: Any, without: Any) -> list[str]:
    return [
        str(argument.type)
        for argument in overload._schema.arguments
        if argument.name not in without and argument.name not in _OPTIONS
    ]
