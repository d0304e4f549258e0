"""What a model and the code it is written in hold, however deep: lists, dictionaries, objects, class
attributes, variables of Python modules and of functions.

A call may change any of them, and then the model is another one at the next call."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from enum import Enum
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

from onnxpert.core.flatten import is_tensor
from onnxpert.core.source import Owner, ownership
from onnxpert.core.tables import (
    ClassTable,
    ClosureTable,
    ModuleTable,
    Table,
    TensorTable,
    variables_of_class,
    variables_of_closure,
    variables_of_module,
)

_CONTAINERS = (dict, list, set, deque, OrderedDict, defaultdict, Counter)
_NAMESPACES = frozenset(
    {"types", "argparse"}
)  # Python's own modules: with objects that only have names
_HOLDERS = frozenset({"queue", "collections"})  # ... and with classes around a container
_MOST = 4096  # tables in one model; and items of a table that are looked into
_DEEPEST = 6
_HEAVIEST = 1 << 26  # bytes of a tensor that is copied, lest a call changes it
_HOOKS = ("_hooks", "_hooks_with_kwargs")
_WRAPPERS = (staticmethod, classmethod, property, MethodType, partial)
_MODULES = "torch.nn.modules.module"
_TABLES = ("_parameters", "_buffers", "_modules")
_REGISTRIES = frozenset({*_TABLES, "_non_persistent_buffers_set"})


def plain_tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """The tensors that modules hold as attributes, which are neither parameters nor buffers."""
    for path, part in model.named_modules():
        for name, value in vars(part).items():
            if is_tensor(value):
                yield f"{path}.{name}" if path else name, value


def loose_tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """Those that are in objects and containers of the modules', and in variables of their code."""
    for walk in (_through_model(model), _through_code(model)):
        yield from walk.tensors.values()


def held_tensors(model: Any) -> Iterator[Any]:
    """All the tensors that a model holds."""
    yield from (tensor for _, tensor in loose_tensors(model))
    yield from (tensor for _, tensor in plain_tensors(model))
    yield from model.parameters()
    yield from model.buffers()


def namespaces(model: Any) -> list[dict[str, Any]]:
    """Where names are bound that a model reads: in its modules, in the objects that it and its code
    hold, among the variables of that code."""
    found = [vars(part) for part in model.modules()]
    found += [vars(module) for module in user_modules(model)]
    for walk in (_through_model(model), _through_code(model)):
        found += walk.namespaces
    return found


def of_attributes(model: Any) -> list[Table]:
    """The attributes of the modules themselves, buffers and such among them."""
    return [
        Table(names, path, type(part), "")
        for path, part in model.named_modules()
        for names in (vars(part), *map(vars(part).get, _TABLES))
        if type(names) is dict  # those of a scripted part are out of reach
    ]


def of_model(model: Any) -> list[Table]:
    """Everything that the modules of a model hold, and their classes."""
    return _through_model(model).tables()


def names_and_containers(model: Any, *, code: bool) -> list[Table]:
    """What holds what, tensors as they are, of modules that are not torch's own; on request, of their
    code too."""
    if ownership(_file(type(model))) <= Owner.LAYER:
        return []
    walks = (_through_model(model), *([_through_code(model)] if code else []))
    return [*of_attributes(model), *(table for walk in walks for table in walk.found)]


def _through_model(model: Any) -> _Walk:
    walk = _Walk()
    parts = list(model.named_modules())
    walk.seen |= {id(part) for _, part in parts}
    for path, part in parts:
        prefix = f"{path}." if path else ""
        for key, value in list(vars(part).items()):
            if key.endswith(_HOOKS):
                for hook in _called(value):
                    walk.look(hook, prefix + type(hook).__name__, type(part), key)
            elif key not in _REGISTRIES:
                walk.look(value, prefix + key, type(part), key)
    kinds = dict.fromkeys(kind for _, part in parts for kind in type(part).__mro__)
    for kind in kinds:
        if ownership(_file(kind)) > Owner.LIBRARY:
            walk.found.append(ClassTable(kind))
            for key, value in variables_of_class(kind).items():
                walk.look(value, f"{kind.__name__}.{key}", kind, key)
    return walk


def of_code(model: Any) -> list[Table]:
    """The variables of the code that a model is written in, and all that they hold; what the model
    itself holds is left to `of_model`."""
    return _through_code(model).tables()


def _through_code(model: Any) -> _Walk:
    walk = _Walk()
    model = getattr(model, "__self__", model)  # of a bound method: its module
    if not _is_module(model):
        return walk
    parts = list(model.modules())
    walk.seen |= {id(each) for part in parts for each in _with_held(part)}
    for module in user_modules(model):
        walk.found.append(ModuleTable(module))
        for name, value in variables_of_module(module).items():
            walk.look(value, name, None, name)
    for part in parts:
        walk.look_into_code(type(part))
        for key, hooks in vars(part).items():
            for hook in hooks.values() if key.endswith(_HOOKS) and hooks else ():
                walk.look_into_code(hook)
    return walk


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
    return module if file and ownership(file) == Owner.USER else None


def _with_held(part: Any) -> Iterator[Any]:
    yield part
    yield from (value for value in vars(part).values() if type(value) in _CONTAINERS)


class _Walk:
    """A search that meets each thing once."""

    def __init__(self) -> None:
        self.found: list[Table] = []
        self.seen: set[int] = set()
        self.tensors: dict[int, tuple[str, Any]] = {}
        self.namespaces: list[dict[str, Any]] = []  # of objects

    def tables(self) -> list[Table]:
        held = self.tensors.values()
        return [*self.found, *(TensorTable(each, name) for name, each in held if _is_light(each))]

    def look(
        self, value: Any, name: str, owner: type | None, attribute: str, depth: int = 0
    ) -> None:
        if depth > _DEEPEST or len(self.found) >= _MOST or id(value) in self.seen:
            return
        if is_tensor(value):
            self.tensors.setdefault(id(value), (name, value))
        elif _kind(value) in (tuple, *_CONTAINERS):
            if type(value) is not tuple:  # which nothing changes
                self.seen.add(id(value))
                self.found.append(Table(value, name, owner, attribute))
            for each in _items(value):
                self.look(each, name, owner, attribute, depth + 1)
        elif isinstance(value, (FunctionType, type, *_WRAPPERS)):
            self.look_into_code(value, depth)
            for each in _carried(value):
                self.look(each, name, owner, attribute, depth + 1)
        elif type(value).__module__ in _HOLDERS and hasattr(value, "__dict__"):
            self.seen.add(id(value))
            for each in list(vars(value).values()):  # what it is to its owner, and not by parts
                if type(each) in _CONTAINERS:
                    self.look(each, name, owner, attribute, depth + 1)
        elif _is_object(value) and not _is_module(value):
            self.seen.add(id(value))
            self.namespaces.append(vars(value))
            self.found.append(Table(vars(value), name, type(value), ""))
            for key, each in list(vars(value).items()):
                self.look(each, f"{name}.{key}", type(value), key, depth + 1)

    def look_into_code(self, code: Any, depth: int = 0) -> None:
        """What the functions of a class, or one function, keep from call to call."""
        code = _unwrapped(code)
        if depth > _DEEPEST or len(self.found) >= _MOST or id(code) in self.seen:
            return
        if isinstance(code, type) and ownership(_file(code)) == Owner.USER:
            self.seen.add(id(code))
            if not _is_module_class(code):  # whose attributes are those of the modules
                self.found.append(ClassTable(code))
                for key, value in variables_of_class(code).items():
                    self.look(value, f"{code.__name__}.{key}", code, key, depth + 1)
            for each in list(vars(code).values()):
                if isinstance(_unwrapped(each), FunctionType):
                    self.look_into_code(each, depth + 1)
        elif isinstance(code, FunctionType) and ownership(code.__code__.co_filename) == Owner.USER:
            self.seen.add(id(code))
            if code.__closure__:
                self.found.append(ClosureTable(code))
            if vars(code):  # step.calls += 1
                self.found.append(Table(vars(code), code.__name__, None, ""))
            for name, value in _kept_by(code):
                self.look(value, name, None, name, depth + 1)


def _kind(value: Any) -> type:
    """Its type; of what stands in for a container while a model is recorded, that one's."""
    kind: type = getattr(type(value), "stands_in_for", type(value))
    return kind


def _unwrapped(code: Any) -> Any:
    for name in ("__func__", "fget", "func"):  # of a method, a property, a partial
        if isinstance(code, _WRAPPERS) and getattr(code, name, None) is not None:
            code = getattr(code, name)
    return code


def _carried(code: Any) -> Iterator[Any]:
    """What a method, or a function with some arguments given, brings along."""
    if isinstance(code, MethodType):
        yield code.__self__
    elif isinstance(code, partial):
        yield from (*code.args, *code.keywords.values())


def _called(hooks: Any) -> Iterator[Any]:
    """The hooks of a module that may keep something; what a function does is in its code."""
    if isinstance(hooks, dict):
        yield from (hook for hook in hooks.values() if not isinstance(hook, FunctionType))


def _kept_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from variables_of_closure(function).items()
    code = function.__code__
    given = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    yield from zip(names[len(names) - len(given) :], given, strict=True)  # def f(x, seen={})
    yield from (function.__kwdefaults__ or {}).items()
    yield from vars(function).items()


def _is_module(value: Any) -> bool:
    return _is_module_class(type(value))


def _is_module_class(kind: type) -> bool:
    return any(each.__module__ == _MODULES for each in kind.__mro__)


def _is_light(tensor: Any) -> bool:
    """Whether a copy is cheap, and there are values to copy."""
    import torch

    dense = type(tensor) is torch.Tensor and tensor.layout is torch.strided
    held = dense and not (tensor.is_meta or tensor.is_quantized or tensor.is_inference())
    return held and tensor.numel() * tensor.element_size() <= _HEAVIEST


def _items(container: Any) -> Iterator[Any]:
    if len(container) <= _MOST:
        yield from list(container.values() if isinstance(container, dict) else container)


def _is_object(value: Any) -> bool:
    """An instance of a class that a user or a library they call wrote in Python, or names that they
    keep together."""
    if isinstance(value, (type, FunctionType, ModuleType, Enum, BaseException)):
        return False
    kind = type(value)
    own = kind.__module__ in _NAMESPACES or ownership(_file(kind)) >= Owner.LIBRARY
    return type(getattr(value, "__dict__", None)) is dict and own


def _file(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    return str(getattr(module, "__file__", None) or "<>")
