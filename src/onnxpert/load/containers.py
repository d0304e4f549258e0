"""How a container comes apart by one level, and how it is put together again."""

from __future__ import annotations

import copy
import dataclasses
import enum
import types
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from onnxpert.load import pytrees
from onnxpert.load.copies import copied


class Style(enum.Enum):
    """How a child is reached: `[0]`, `["key"]` or `.field`."""

    ITEM = "item"
    FIELD = "field"


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A container, one level apart."""

    style: Style
    keys: tuple[Any, ...]
    children: tuple[Any, ...]
    build: Callable[[Sequence[Any]], Any]


CONSTANTS: tuple[type[Any], ...] = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    type,
    enum.Enum,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.Size,
    torch.SymInt,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    numpy.generic,
)
INDIVISIBLE: tuple[type[Any], ...] = (torch.Tensor, *CONSTANTS)


def take_apart(value: Any) -> Parts | None:
    """The parts of a container of any kind we know, None for anything else."""
    if isinstance(value, (torch.nn.Module, *INDIVISIBLE)):
        return None
    if pytrees.is_registered(value):
        return _registered(value)
    if dataclasses.is_dataclass(value):
        return _dataclass(value)
    if isinstance(value, MutableMapping | list | tuple):
        return _mapping(value) if isinstance(value, MutableMapping) else _sequence(value)
    if type(value).__module__.partition(".")[0] == "transformers":
        return by_attributes(value)
    return None


def _registered(value: Any) -> Parts:
    children, build = pytrees.one_level(value)
    field = bool(children) and pytrees.is_attribute(children[0][0])
    return Parts(
        Style.FIELD if field else Style.ITEM,
        tuple(pytrees.key_of(key) for key, _ in children),
        tuple(child for _, child in children),
        build,
    )


def _dataclass(value: Any) -> Parts:
    names = tuple(field.name for field in dataclasses.fields(value) if field.init)

    def build(values: Sequence[Any]) -> Any:
        fields = dict(zip(names, values, strict=True))
        try:
            return dataclasses.replace(value, **fields)
        except ValueError:  # an InitVar without default: the constructor cannot be called again
            clone = copy.copy(value)
            for name, item in fields.items():
                object.__setattr__(clone, name, item)
            return clone

    return Parts(Style.FIELD, names, tuple(getattr(value, name) for name in names), build)


def _mapping(value: MutableMapping[Any, Any]) -> Parts:
    keys = tuple(value)

    def build(values: Sequence[Any]) -> Any:
        clone = copy.copy(value)
        for key, item in zip(keys, values, strict=True):
            clone[key] = item
        return clone

    return Parts(Style.ITEM, keys, tuple(value[key] for key in keys), build)


def _sequence(value: list[Any] | tuple[Any, ...]) -> Parts:
    def build(values: Sequence[Any]) -> Any:
        if isinstance(value, tuple):
            return type(value)(values)
        clone = copy.copy(value)
        clone[:] = values
        return clone

    return Parts(Style.ITEM, tuple(range(len(value))), tuple(value), build)


def by_attributes(value: Any) -> Parts | None:
    """A cache of transformers (and its layers), or an object that is only looked at: the attributes
    that hold tensors are its parts."""
    held = getattr(value, "__dict__", {})
    holders = tuple(name for name, item in held.items() if holds_tensor(item))
    names = tuple(name for name in holders if not _is_setting(name, held[name]))
    if not holders:
        return None

    def build(values: Sequence[Any]) -> Any:
        clone = copy.copy(value)
        for name, item in held.items():
            if name not in names:  # flags that the model flips must not be the user's
                object.__setattr__(clone, name, copied(item))
        for name, item in zip(names, values, strict=True):
            object.__setattr__(clone, name, item)
        return clone

    return Parts(Style.FIELD, names, tuple(held[name] for name in names), build)


def _is_setting(name: str, item: Any) -> bool:
    """A number that a cache keeps for itself as a tensor, such as the length of its window."""
    return name.startswith("_") and isinstance(item, torch.Tensor) and item.dim() == 0


def holds_tensor(value: Any) -> bool:
    """Whether a tensor can be reached from a value through its items and attributes."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, torch.Tensor | numpy.ndarray):
            return True
        if id(item) in seen or isinstance(item, CONSTANTS):
            continue
        seen.add(id(item))
        waiting += _held(item)
    return False


def _held(item: Any) -> list[Any]:
    if isinstance(item, MutableMapping | dict):
        return list(item.values())
    if isinstance(item, list | tuple | set | frozenset):
        return list(item)
    slots = [
        getattr(item, name, None)
        for kind in type(item).__mro__
        for name in _slots(kind)
        if name != "__weakref__"
    ]
    return [*getattr(item, "__dict__", {}).values(), *slots]


def _slots(kind: type[Any]) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
