"""From an object in the user's module to the model it stands for, and to its example inputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from inspect import Parameter
from types import ModuleType
from typing import Any

import torch

from onnxpert.core.errors import UsageError
from onnxpert.load.source import Source, did_you_mean
from onnxpert.load.user_code import told_as_theirs

EXAMPLE = "example_inputs"
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def named_source(module: ModuleType, name: str, where: str) -> Source:
    """The model called `name` in a module; `where` is how the user wrote the module."""
    found = _look_up(module, name, where)
    model = _model(found, f"{where}:{name}", module)
    args, kwargs = _example(model, module)
    return Source(model, args, kwargs)


def _look_up(module: ModuleType, name: str, where: str) -> Any:
    here: Any = module
    for part in name.split(".") if name else ():
        if not hasattr(here, part):
            raise UsageError(f"`{where}` has no `{name}`", _offer(name, module, where))
        here = getattr(here, part)
    if here is module:
        raise UsageError(f"`{where}` does not say which model", _offer("", module, where))
    return here


def _offer(name: str, module: ModuleType, where: str) -> str:
    known = models_in(module)
    if not known:
        return f"`{where}` defines no nn.Module and no function"
    if not name:
        return "write " + " or ".join(f"{where}:{each}" for each in known[:8])
    return did_you_mean(name, known, "it has")


def models_in(module: ModuleType) -> list[str]:
    """What could be meant: modules and functions that this module defines itself."""
    own = []
    for name, value in vars(module).items():
        if name.startswith("_") or name == EXAMPLE:
            continue
        defined = getattr(value, "__module__", None) == module.__name__
        is_class = inspect.isclass(value) and issubclass(value, torch.nn.Module)
        if isinstance(value, torch.nn.Module) or (
            defined and (is_class or inspect.isfunction(value))
        ):
            own.append(name)
    return own


def _model(found: Any, what: str, module: ModuleType) -> Any:
    if inspect.isclass(found):
        return _constructed(found, what)
    if isinstance(found, torch.nn.Module | torch.export.ExportedProgram):
        return found
    if inspect.isroutine(found):
        return _called(found, what)
    if callable(found):
        return found
    kind = type(found).__name__
    help = did_you_mean("", models_in(module), "what can be exported there")
    raise UsageError(f"`{what}` is of type {kind}, not a model", help)


def _constructed(kind: type[Any], what: str) -> Any:
    if not callable(getattr(kind, "forward", None)) and "__call__" not in vars(kind):
        raise UsageError(
            f"`{what}` is a class without forward", "name an nn.Module, a function or an instance"
        )
    if needed := _required(kind):
        names = ", ".join(f"`{name}`" for name in needed)
        raise UsageError(
            f"`{what}` cannot be constructed without arguments: it needs {names}",
            f"point at a function that returns an instance (def make(): return "
            f"{kind.__name__}(...)), or at an instance at the top of the file",
        )
    with told_as_theirs(f"constructing `{what}` failed"):
        return kind()


def _called(function: Any, what: str) -> Any:
    """A factory is called; a function that takes inputs is itself the model."""
    if _required(function):
        return function
    parameters = _parameters(function)
    if parameters:
        try:
            made = function()
        except Exception:  # its defaults are for something else: then it is the model
            return function
    else:
        with told_as_theirs(f"calling `{what}` failed"):
            made = function()
    is_model = isinstance(made, torch.nn.Module | torch.export.ExportedProgram)
    return made if is_model else function


def _parameters(function: Any) -> list[Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [Parameter("args", Parameter.VAR_POSITIONAL)]


def _required(function: Any) -> list[str]:
    return [
        parameter.name
        for parameter in _parameters(function)
        if parameter.default is Parameter.empty and parameter.kind not in VARIADIC
    ]


def _example(
    model: Any, module: ModuleType
) -> tuple[tuple[Any, ...] | None, dict[str, Any] | None]:
    """The model's own `example_inputs` before those of its file."""
    for owner in (model, module):
        found = getattr(owner, EXAMPLE, None)
        if found is None:
            continue
        if inspect.isroutine(found):
            with told_as_theirs(f"calling `{EXAMPLE}` failed"):
                found = found()
        return as_call(found)
    return None, None


def as_call(found: Any) -> tuple[tuple[Any, ...] | None, dict[str, Any] | None]:
    """Example inputs as args and kwargs: a tuple is args, a dictionary kwargs."""
    if found is None:
        return None, None
    if isinstance(found, Mapping):
        return (), dict(found)
    if isinstance(found, tuple | list):
        return tuple(found), {}
    return (found,), {}
