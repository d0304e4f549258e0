"""What a model and the code it is written in hold, however deep: lists, dictionaries, objects, class
attributes, variables of Python modules and of functions.

A call may change any of them, and then the model is another one at the next call."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

from onnxpert.core.flatten import is_tensor
from onnxpert.core.source import ownership

_CONTAINERS = (dict, list, set, deque, OrderedDict, defaultdict, Counter)
_MOST = 4096  # tables in one model; and items of a table that are looked into
_DEEPEST = 6
_LIBRARY, _USER = 2, 3
_HOOKS = ("_hooks", "_hooks_with_kwargs")
_WRAPPERS = (staticmethod, classmethod, property, MethodType, partial)
_MODULES = "torch.nn.modules.module"
_REGISTRIES = frozenset({"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"})


@dataclass(frozen=True, slots=True)
class Change:
    """A thing that is not as it was: what the model calls it, and whose code says so."""

    name: str  # `encoder.cache.keys`
    owner: type | None  # the class that has the attribute
    attribute: str


def plain_tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """The tensors that modules hold as attributes, which are neither parameters nor buffers."""
    for path, part in model.named_modules():
        for name, value in vars(part).items():
            if is_tensor(value):
                yield f"{path}.{name}" if path else name, value


def held_tensors(model: Any) -> Iterator[Any]:
    """All the tensors that modules hold by themselves."""
    yield from (tensor for _, tensor in plain_tensors(model))
    yield from model.parameters()
    yield from model.buffers()


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

    def renew(self) -> None:
        """What it holds now is what it held before, from here on."""
        if self.is_changed():
            self._before = self._now().copy()

    def _now(self) -> Any:
        return self._held

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
        self._held = self._now()
        return super().changes()

    def _now(self) -> Any:
        return _of_class(self._kind)

    def restore(self) -> None:
        now = _of_class(self._kind)
        for key in now.keys() - self._before.keys():
            delattr(self._kind, key)
        for key, value in self._before.items():
            if now.get(key, _NONE) is not value:
                setattr(self._kind, key, value)


class ModuleTable(Table):
    """The variables of a Python module that its author made; what is new was imported, or is kept."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(_of_module(module), "", None, "")
        self._module = module

    def changes(self) -> list[Change]:
        now, before = self._now(), self._before.items()
        return [Change(key, None, key) for key, value in before if now.get(key, _NONE) is not value]

    def restore(self) -> None:
        for change in self.changes():
            self._set(change.name, self._before[change.name])

    def _now(self) -> Any:
        return _of_module(self._module)

    def _set(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)


class ClosureTable(ModuleTable):
    """The variables that a function has of the one it was made in: `nonlocal count`."""

    def __init__(self, function: FunctionType) -> None:
        Table.__init__(self, _of_closure(function), "", None, "")
        self._function = function

    def _now(self) -> Any:
        return _of_closure(self._function)

    def _set(self, name: str, value: Any) -> None:
        place = self._function.__code__.co_freevars.index(name)
        (self._function.__closure__ or ())[place].cell_contents = value


def of_model(model: Any) -> list[Table]:
    """Everything that the modules of a model hold, and their classes."""
    walk = _Walk()
    parts = list(model.named_modules())
    walk.seen |= {id(part) for _, part in parts}
    for path, part in parts:
        prefix = f"{path}." if path else ""
        for key, value in list(vars(part).items()):
            if key not in _REGISTRIES and not key.endswith(_HOOKS):
                walk.look(value, prefix + key, type(part), key)
    kinds = dict.fromkeys(kind for _, part in parts for kind in type(part).__mro__)
    for kind in kinds:
        if ownership(_file(kind)) > _LIBRARY:
            walk.found.append(ClassTable(kind))
            for key, value in _of_class(kind).items():
                walk.look(value, f"{kind.__name__}.{key}", kind, key)
    return walk.found


def of_code(model: Any) -> list[Table]:
    """The variables of the code that a model is written in, and all that they hold; what the model
    itself holds is left to `of_model`."""
    walk = _Walk()
    model = getattr(model, "__self__", model)  # of a bound method: its module
    if not _is_module(model):
        return []
    parts = list(model.modules())
    walk.seen |= {id(each) for part in parts for each in _with_held(part)}
    for module in user_modules(model):
        walk.found.append(ModuleTable(module))
        for name, value in _of_module(module).items():
            walk.look(value, name, None, name)
    for part in parts:
        walk.look_into_code(type(part))
        for key, hooks in vars(part).items():
            for hook in hooks.values() if key.endswith(_HOOKS) and hooks else ():
                walk.look_into_code(hook)
    return walk.found


def user_modules(model: Any) -> list[ModuleType]:
    """The Python modules of the user's that a model is written in, and those these import from."""
    names = {kind.__module__ for part in model.modules() for kind in type(part).__mro__}
    found = {name: module for name in names if (module := _users(name)) is not None}
    for module in list(found.values()):
        for value in list(vars(module).values()):
            is_code = isinstance(value, (FunctionType, type))
            name = value.__module__ if is_code else getattr(value, "__name__", "")
            if isinstance(value, ModuleType) or is_code:
                other = _users(name)
                if other is not None:
                    found.setdefault(name, other)
    return list(found.values())


def _users(name: str) -> ModuleType | None:
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None)
    return module if file and ownership(file) == _USER else None


def _with_held(part: Any) -> Iterator[Any]:
    yield part
    yield from (value for value in vars(part).values() if type(value) in _CONTAINERS)


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
        elif isinstance(value, (FunctionType, type, *_WRAPPERS)):
            self.look_into_code(value, depth)
        elif _is_object(value) and not _is_module(value):
            self.seen.add(id(value))
            self.found.append(Table(vars(value), name, type(value), ""))
            for key, each in list(vars(value).items()):
                self.look(each, f"{name}.{key}", type(value), key, depth + 1)

    def look_into_code(self, code: Any, depth: int = 0) -> None:
        """What the functions of a class, or one function, keep from call to call."""
        code = _unwrapped(code)
        if depth > _DEEPEST or len(self.found) >= _MOST or id(code) in self.seen:
            return
        if isinstance(code, type) and ownership(_file(code)) == _USER:
            self.seen.add(id(code))
            if not _is_module_class(code):  # whose attributes are those of the modules
                self.found.append(ClassTable(code))
                for key, value in _of_class(code).items():
                    self.look(value, f"{code.__name__}.{key}", code, key, depth + 1)
            for each in list(vars(code).values()):
                if isinstance(_unwrapped(each), FunctionType):
                    self.look_into_code(each, depth + 1)
        elif isinstance(code, FunctionType) and ownership(code.__code__.co_filename) == _USER:
            self.seen.add(id(code))
            if code.__closure__:
                self.found.append(ClosureTable(code))
            if vars(code):  # step.calls += 1
                self.found.append(Table(vars(code), code.__name__, None, ""))
            for name, value in _kept_by(code):
                self.look(value, name, None, name, depth + 1)


def _unwrapped(code: Any) -> Any:
    for name in ("__func__", "fget", "func"):  # of a method, a property, a partial
        if isinstance(code, _WRAPPERS) and getattr(code, name, None) is not None:
            code = getattr(code, name)
    return code


def _kept_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from _of_closure(function).items()
    code = function.__code__
    given = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    yield from zip(names[len(names) - len(given) :], given, strict=True)  # def f(x, seen={})
    yield from (function.__kwdefaults__ or {}).items()
    yield from vars(function).items()


def _of_closure(function: FunctionType) -> dict[str, Any]:
    found = {}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    for name, cell in cells:
        with suppress(ValueError):  # nothing is in it yet
            found[name] = cell.cell_contents
    return found


def _of_module(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


def _is_module(value: Any) -> bool:
    return _is_module_class(type(value))


def _is_module_class(kind: type) -> bool:
    return any(each.__module__ == _MODULES for each in kind.__mro__)


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
