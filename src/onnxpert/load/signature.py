"""What a model takes, and which of its parameters each given value belongs to."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import torch

from onnxpert.core.types import SpecProblem
from onnxpert.load import pytrees

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
# For a callable that does not tell (a builtin): takes anything, names nothing.
ANYTHING = Signature(
    [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]
)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A parameter that the call gives a value, and how the call gives it."""

    name: str
    value: Any  # of *args the tuple, of **kwargs the dictionary
    positional: bool
    variadic: bool


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call in the order of the signature."""

    bound: tuple[Bound, ...]
    problems: tuple[SpecProblem, ...]


def signature_of(model: Any) -> Signature:
    if isinstance(model, torch.export.ExportedProgram):
        return _program_signature(model)
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        return _script_signature(model)
    try:
        return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    except (TypeError, ValueError):
        return ANYTHING


def _program_signature(program: torch.export.ExportedProgram) -> Signature:
    args, kwargs = pytrees.call_structure(program.call_spec.in_spec)
    root = program.module_call_graph[0].signature
    names = list((root and root.forward_arg_names) or ())
    if len(names) != len(args) + len(kwargs):
        names = [f"arg_{index}" for index in range(len(args))] + list(kwargs)
    kinds = [Parameter.POSITIONAL_OR_KEYWORD] * len(args) + [Parameter.KEYWORD_ONLY] * len(kwargs)
    return Signature([Parameter(name, kind) for name, kind in zip(names, kinds, strict=True)])


def _script_signature(model: Any) -> Signature:
    is_module = isinstance(model, torch.jit.ScriptModule)
    arguments = model.forward.schema.arguments[1:] if is_module else model.schema.arguments
    parameters = []
    for argument in arguments:  # of a module without self
        kind = Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD
        given = argument.has_default_value()
        default = argument.default_value if given else Parameter.empty
        parameters.append(Parameter(argument.name, kind, default=default))
    return Signature(parameters)


def given_call(
    signature: Signature, args: Any, kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Args and kwargs as they were meant: a lone value, a dictionary of all inputs, a tuple."""
    if isinstance(args, Mapping) and not isinstance(args, torch.Tensor):
        if args and not kwargs and all(key in signature.parameters for key in args):
            return (), dict(args)
        return (args,), dict(kwargs)
    if isinstance(args, list):
        # A list is the arguments unless only the list as one argument fits.
        whole = not _fits(signature, tuple(args), kwargs) and _fits(signature, (args,), kwargs)
        return (args,) if whole else tuple(args), dict(kwargs)
    if type(args) is not tuple:  # a namedtuple is one argument
        return (args,), dict(kwargs)
    if args and isinstance(args[-1], dict) and not _fits(signature, args, kwargs):
        named = {**args[-1], **kwargs}
        if all(isinstance(key, str) for key in named) and _fits(signature, args[:-1], named):
            return args[:-1], named
    return args, dict(kwargs)


def _fits(signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def bind(signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Each value with its parameter; what has none keeps a name of its own, and is a problem."""
    bound: list[Bound] = []
    named = dict(kwargs)
    rest = list(args)
    variadic = None
    for name, parameter in signature.parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            if rest:
                bound.append(Bound(name, tuple(rest), positional=True, variadic=True))
            rest = []
        elif parameter.kind is Parameter.VAR_KEYWORD:
            variadic = name
        elif parameter.kind in POSITIONAL and rest:
            bound.append(Bound(name, rest.pop(0), positional=True, variadic=False))
        elif name in named and parameter.kind is not Parameter.POSITIONAL_ONLY:
            bound.append(Bound(name, named.pop(name), positional=False, variadic=False))
    problem = _misfit(signature, args, kwargs)
    if rest:
        bound.append(Bound("args", tuple(rest), positional=True, variadic=True))
    if named:
        bound.append(Bound(variadic or "kwargs", named, positional=False, variadic=True))
    return Call(tuple(bound), () if problem is None else (problem,))


def _misfit(
    signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> SpecProblem | None:
    if _fits(signature, args, kwargs):
        return None
    reasons = list(_reasons(signature, args, kwargs))
    return SpecProblem(
        "bad-signature",
        "the inputs do not fit the model's signature: " + "; ".join(reasons),
        f"the model takes {shown(signature)}" + _closest(signature, kwargs),
    )


def _reasons(signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    parameters = signature.parameters.values()
    positional = [p.name for p in parameters if p.kind in POSITIONAL]
    open_args = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    open_kwargs = any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
    taken = set(positional[: len(args)])
    reasons = []
    if len(args) > len(positional) and not open_args:
        reasons.append(f"{len(args)} positional inputs given, {len(positional)} taken")
    keywords = {p.name for p in parameters if p.kind is not Parameter.POSITIONAL_ONLY}
    unknown = [name for name in kwargs if name not in keywords and not open_kwargs]
    if unknown:
        reasons.append(f"no parameter {_quoted(unknown)}")
    if twice := [name for name in kwargs if name in taken and name in keywords]:
        reasons.append(f"{_quoted(twice)} given twice")
    missing = [
        p.name
        for p in parameters
        if p.default is Parameter.empty
        and p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        and p.name not in taken
        and p.name not in kwargs
    ]
    if missing:
        reasons.append(f"no value for {_quoted(missing)}")
    return reasons or ["a positional-only parameter is given by name"]


def _closest(signature: Signature, kwargs: Mapping[str, Any]) -> str:
    known = list(signature.parameters)
    for name in kwargs:
        if name not in known and (close := difflib.get_close_matches(name, known, 1)):
            return f"; did you mean `{close[0]}` instead of `{name}`?"
    return ""


def shown(signature: Signature) -> str:
    """The parameters as one writes them, without annotations; a default is shown if it is short."""
    plain = []
    for parameter in signature.parameters.values():
        default = parameter.default
        if default is not Parameter.empty and len(repr(default)) > 20:
            default = ...
        plain.append(parameter.replace(annotation=Parameter.empty, default=default))
    return str(Signature(plain))


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
