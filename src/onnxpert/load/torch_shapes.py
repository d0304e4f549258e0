"""torch's own builders of dynamic shapes, brought to the plain nested form.

ShapesCollection and AdditionalInputs through their public methods, ShapesSpec through private
attributes; tried on torch 2.13.0 and 2.15.0."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

from torch.export import AdditionalInputs, ShapesCollection
from torch.fx.experimental import dynamic_spec

from onnxpert.core.types import SpecProblem
from onnxpert.load.inputs import Inputs

SPECS = (dynamic_spec.ShapesSpec, dynamic_spec.ParamsSpec)


def by_leaf(shapes: ShapesCollection, inputs: Inputs) -> tuple[dict[str, Any], int]:
    """The wish for each leaf by its name, and how many wishes are for tensors not among them."""
    # Asking a ShapesCollection for a tensor it does not know adds it, so ask a copy.
    asked = copy.deepcopy(shapes)
    total = len(asked)
    found: dict[str, Any] = {}
    known: set[int] = set()
    strangers: set[int] = set()
    for leaf in inputs.leaves:
        before = len(asked)
        wish = asked[leaf.value]
        if len(asked) > before:
            strangers.add(id(leaf.value))
        elif id(leaf.value) not in strangers:
            found[leaf.name] = wish
            known.add(id(leaf.value))
    return found, total - len(known)


def from_additional(
    shapes: AdditionalInputs,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[Any, SpecProblem | None]:
    """What varies between the given inputs and the additional ones."""

    def model() -> None: ...

    model.__signature__ = signature  # type: ignore[attr-defined]
    try:
        found = shapes.dynamic_shapes(model, args, dict(kwargs))  # type: ignore[no-untyped-call]
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        return None, SpecProblem(
            "bad-structure",
            f"the additional inputs do not fit the example: {text}",
            "give AdditionalInputs.add the same structure, types and constants as the example",
        )
    return found, None


def from_spec(spec: Any) -> tuple[Any, SpecProblem | None]:
    """A ShapesSpec or ParamsSpec as a dictionary by parameter."""
    problem = None
    if isinstance(spec, dynamic_spec.ShapesSpec):
        if spec.assumptions:
            problem = SpecProblem(
                "bad-structure",
                "the assumptions of a ShapesSpec are not carried over",
                "say them as bounds of the dimensions: ShapeVar(name, min=..., max=...)",
            )
        spec = vars(spec)["_params"]
    held = vars(spec) if spec is not None else {}
    plain: dict[str, Any] = {
        name: _plain(each) for name, each in held.get("_named_args", {}).items()
    }
    if held.get("_varargs"):
        plain["*args"] = [_plain(each) for each in held["_varargs"]]
    for name, each in (held.get("_varkw") or {}).items():
        plain[name] = _plain(each)
    return plain, problem


def _plain(spec: Any) -> Any:
    if isinstance(spec, dynamic_spec.TensorSpec):
        return tuple(spec)
    if isinstance(spec, dynamic_spec.SeqSpec):
        # It may be shorter than the sequence it describes, so positions rather than a list.
        return {index: _plain(each) for index, each in enumerate(vars(spec)["_entries"])}
    if isinstance(spec, dynamic_spec.DictSpec | dynamic_spec.ObjectSpec):
        return {key: _plain(each) for key, each in spec.items()}
    return spec
