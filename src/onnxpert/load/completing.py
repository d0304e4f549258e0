"""Arguments that do not fit a model, made to: what is too many left out, what is missing stood in for.

That they do not fit is an error of its own. But whatever else is in the way can only be seen in a model
that runs."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, Signature
from typing import Any

import torch

from onnxpert.core.types import Request, replace
from onnxpert.load.model import own_example
from onnxpert.load.signature import POSITIONAL, given_call, signature_of
from onnxpert.load.wrappers import unwrap

BAD_SIGNATURE = "bad-signature"
_BY_ANNOTATION = {"float": 1.0, "int": 1, "bool": False, "str": ""}


def completions(request: Request) -> Iterator[Request]:
    """The request with arguments that fit, in the ways that are worth a try."""
    model, _ = unwrap(request.model)
    signature = signature_of(model)
    given = own_example(model, request.args, request.kwargs)
    args, kwargs = _without_strangers(signature, *given_call(signature, *given))
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    for stand_in in (torch.ones(()), *tensors[:1], 1):
        missing = {
            name: _value(parameter, stand_in)
            for name, parameter in _missing(signature, args, kwargs)
        }
        filled = {**kwargs, **missing}
        try:
            bound = signature.bind(*args, **filled)
        except TypeError:
            return
        yield replace(request, args=bound.args, kwargs=bound.kwargs)


def _without_strangers(
    signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    parameters = signature.parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    places = [parameter.name for parameter in parameters if parameter.kind in POSITIONAL]
    if Parameter.VAR_POSITIONAL not in kinds:
        args = args[: len(places)]
    taken = set(places[: len(args)])
    if Parameter.VAR_KEYWORD not in kinds:
        kwargs = {name: value for name, value in kwargs.items() if name in signature.parameters}
    return args, {name: value for name, value in kwargs.items() if name not in taken}


def _missing(
    signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[str, Parameter]]:
    places = [p.name for p in signature.parameters.values() if p.kind in POSITIONAL]
    given = {*places[: len(args)], *kwargs}
    for name, parameter in signature.parameters.items():
        variadic = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if name not in given and parameter.default is Parameter.empty and not variadic:
            yield name, parameter


def _value(parameter: Parameter, stand_in: Any) -> Any:
    annotated = parameter.annotation
    name = annotated if isinstance(annotated, str) else getattr(annotated, "__name__", "")
    return _BY_ANNOTATION.get(name, stand_in)
