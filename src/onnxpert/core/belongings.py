"""What a model holds beside its tensors, however deep: lists, dictionaries, objects, class attributes.

A call may change any of them, and then the model is another one at the next call."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

from onnxpert.core.source import ownership

_CONTAINERS = (dict, list, set, deque, OrderedDict, defaultdict, Counter)
_MOST = 4096  # tables in one model; and items of a table that are looked into
_DEEPEST = 6
_LIBRARY = 2  # 3 would be the user's own
_MODULES = "torch.nn.modules.module"
_REGISTRIES = frozenset({"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"})


@dataclass(frozen=True, slots=True)
class Change:
    """A thing that is not as it was: what the model calls it, and whose code says so."""

    name: str  # `encoder.cache.keys`
    owner: type | None  # the class that has the attribute
    attribute: str


class Table:
    """A container, or the attributes of an object, as they are now."""

    def __init__(self, held: Any, name: str, owner: type | None, attribute: str) -> None:
        self._held = held
        self._before = held.copy()
        self.name = name
        self._owner = owner
        self._attribute = attribute  # "": the keys are attributes themselves

    def changes(self) -> list[Change]:
        if _same(self._held, self._before):
            return []
        if self._attribute:
            return [Change(self.name, self._owner, self._attribute)]
        now, before = self._held, self._before
        keys = [
            key for key in {**before, **now} if now.get(key, _NONE) is not before.get(key, _NONE)
        ]
        return [Change(f"{self.name}.{key}", self._owner, str(key)) for key in keys]

    def is_changed(self) -> bool:
        return bool(self.changes())

    def restore(self) -> None:
        if _same(self._held, self._before):
            return
        self._held.clear()
        if isinstance(self._held, (list, deque)):
            self._held.extend(self._before)
        else:
            self._held.update(self._before)


class ClassTable(Table):
    """The attributes of a class, which can only be set one by one."""

    def __init__(self, kind: type) -> None:
        super().__init__(_of_class(kind), kind.__name__, kind, "")
        self._kind = kind

    def changes(self) -> list[Change]:
        self._held = _of_class(self._kind)
        return super().changes()

    def restore(self) -> None:
        now = _of_class(self._kind)
        for key in now.keys() - self._before.keys():
            delattr(self._kind, key)
        for key, value in self._before.items():
            if now.get(key, _NONE) is not value:
                setattr(self._kind, key, value)


def of_model(model: Any) -> list[Table]:
    """Everything that the modules of a model hold, and their classes."""
    walk = _Walk()
    parts = list(model.named_modules())
    walk.seen |= {id(part) for _, part in parts}
    for path, part in parts:
        prefix = f"{path}." if path else ""
        for key, value in list(vars(part).items()):
            if key not in _REGISTRIES and not key.endswith(("_hooks", "_hooks_with_kwargs")):
                walk.look(value, prefix + key, type(part), key)
    kinds = dict.fromkeys(kind for _, part in parts for kind in type(part).__mro__)
    for kind in kinds:
        if ownership(_file(kind)) > _LIBRARY:
            walk.found.append(ClassTable(kind))
            for key, value in _of_class(kind).items():
                walk.look(value, f"{kind.__name__}.{key}", kind, key)
    return walk.found


def of_variables(variables: Iterable[tuple[str, Any]]) -> list[Table]:
    """Everything that the variables of a Python module hold, its models apart."""
    walk = _Walk()
    for name, value in variables:
        if not any(kind.__module__ == _MODULES for kind in type(value).__mro__):
            walk.look(value, name, None, name)
    return walk.found


class _Walk:
    """A search that meets each thing once."""

    def __init__(self) -> None:
        self.found: list[Table] = []
        self.seen: set[int] = set()

    def look(
        self, value: Any, name: str, owner: type | None, attribute: str, depth: int = 0
    ) -> None:
        if depth > _DEEPEST or len(self.found) >= _MOST or id(value) in self.seen:
            return
        if type(value) in _CONTAINERS:
            self.seen.add(id(value))
            self.found.append(Table(value, name, owner, attribute))
            for each in _items(value):
                self.look(each, name, owner, attribute, depth + 1)
        elif type(value) is tuple:
            for each in _items(value):
                self.look(each, name, owner, attribute, depth + 1)
        elif _is_object(value):
            self.seen.add(id(value))
            self.found.append(Table(vars(value), name, type(value), ""))
            for key, each in list(vars(value).items()):
                self.look(each, f"{name}.{key}", type(value), key, depth + 1)


def _items(container: Any) -> Iterator[Any]:
    if len(container) <= _MOST:
        yield from list(container.values() if isinstance(container, dict) else container)


def _is_object(value: Any) -> bool:
    """An instance of a class that a user or a library they call wrote in Python."""
    if isinstance(value, (type, FunctionType, ModuleType, Enum, BaseException)):
        return False
    return type(getattr(value, "__dict__", None)) is dict and ownership(_file(type(value))) >= (
        _LIBRARY
    )


def _file(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    return str(getattr(module, "__file__", None) or "<>")


_CODE = (FunctionType, staticmethod, classmethod, property)


def _of_class(kind: type) -> dict[str, Any]:
    return {
        key: value
        for key, value in vars(kind).items()
        if not key.startswith("__") and not isinstance(value, _CODE)
    }


def _same(held: Any, before: Any) -> bool:
    if len(held) != len(before):
        return False
    if isinstance(held, dict):
        return all(key in held and held[key] is value for key, value in before.items())
    if isinstance(held, set):
        return bool(held == before)
    return all(a is b for a, b in zip(held, before, strict=True))


_NONE = object()
