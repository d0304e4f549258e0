"""The names that the user gives to the inputs of the file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from onnxpert.core.types import Request, SpecProblem
from onnxpert.load import skeleton
from onnxpert.load.inputs import Inputs, Leaf


def graph_inputs(inputs: Inputs, scalars: Mapping[str, Any]) -> list[Leaf]:
    """The leaves that become inputs of the file: tensors, and numbers that vary."""
    return [leaf for leaf in inputs.leaves if leaf.is_tensor or leaf.name in scalars]


def aliases(request: Request, inputs: Inputs, scalars: Mapping[str, Any]) -> dict[Any, Leaf]:
    pairs = list(zip(request.input_names, graph_inputs(inputs, scalars), strict=False))
    return dict(reversed(pairs))  # of two with one name, which is told, the first has it


def check_names(request: Request, inputs: Inputs, scalars: Mapping[str, Any]) -> list[SpecProblem]:
    names = request.input_names
    taking = [leaf.name for leaf in graph_inputs(inputs, scalars)]
    listed = ", ".join(f"`{name}`" for name in taking) or "none"
    problems = []
    if len(names) > len(taking):
        message = f"input_names has {len(names)} names, the model has {len(taking)} tensor inputs"
        help = f"in order the inputs are {listed}; None and constants are not inputs of the file"
        problems.append(SpecProblem("bad-names", message, help))
    for kind, given in (("input_names", names), ("output_names", request.output_names)):
        twice = sorted({str(name) for name in given if given.count(name) > 1})
        if twice:
            message = f"{kind} gives `{'`, `'.join(twice)}` to more than one"
            problems.append(SpecProblem("bad-names", message, "every name must be its own"))
        if bad := [name for name in given if not isinstance(name, str) or not name]:
            message = f"{kind} holds {bad[0]!r}, which is not a name"
            problems.append(SpecProblem("bad-names", message, "write non-empty strings"))
    if both := sorted({str(n) for n in names} & {str(n) for n in request.output_names}):
        message = f"`{both[0]}` is both an input's and an output's name"
        problems.append(SpecProblem("bad-names", message, "every name must be its own"))
    return problems


def unknown_input(spelling: str, name: Any, request: Request, inputs: Inputs) -> SpecProblem:
    known = [*request.input_names, *skeleton.names(inputs)]
    listed = ", ".join(f"`{each}`" for each in dict.fromkeys(known)) or "none"
    given = request.dynamic_axes if spelling == "dynamic_axes" else request.dynamic_shapes
    close = _close(name, known, given)
    message = f"{spelling} names an input `{name}` that the model does not have in this call"
    help = f"the inputs are {listed}"
    if close:
        help += f"; did you mean `{close[0]}`?"
    meant = close[0] if close else _unnamed(given, [leaf.name for leaf in inputs.leaves])
    spec = _respelled(given, name, meant, known)
    if spec:
        help += f"; write {spelling}={spec}"
    if not close and spelling == "dynamic_axes" and not request.output_names:
        help += "; if it is an output, name it in output_names"
    return SpecProblem("unknown-input", message, help)


def _unnamed(given: Any, inputs: list[str]) -> str:
    """The input that must be meant, where only one is left without a wish."""
    left = [name for name in inputs if name not in given] if isinstance(given, Mapping) else []
    return left[0] if len(left) == 1 or (left and len(given) == 1) else ""


def _close(name: Any, known: list[Any], given: Any) -> list[str]:
    """The input that is meant by a name that is nearly its own, unless it has a wish already."""
    wished = given if isinstance(given, Mapping) else {}
    left = [str(each) for each in known if each not in wished]
    return difflib.get_close_matches(str(name), left, 1)


def _respelled(given: Any, name: Any, meant: str, known: list[Any]) -> str:
    """The user's own spec under the right names, where it is plain enough to be written down."""
    if not meant or not isinstance(given, Mapping):
        return ""
    names = {key: [key] if key in known else _close(key, known, given) for key in given}
    names[name] = [meant]
    spec = {right: given[key] for key, found in names.items() for right in found}
    plain = all(
        wish is None
        or (isinstance(wish, Mapping) and all(isinstance(dim, str) for dim in wish.values()))
        or (isinstance(wish, list) and all(isinstance(axis, int) for axis in wish))
        for wish in spec.values()
    )
    return (
        str({key: dict(w) if isinstance(w, Mapping) else w for key, w in spec.items()})
        if plain
        else ""
    )
