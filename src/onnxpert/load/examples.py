"""Further example inputs: what differs between them is what shall vary, and all of them are proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import Signature
from typing import Any

import torch

from onnxpert.core.types import DimSpec, SpecProblem
from onnxpert.load.copies import copied
from onnxpert.load.dynamic import Wishes
from onnxpert.load.inputs import Inputs, Leaf, read_inputs
from onnxpert.load.signature import bind, given_call
from onnxpert.load.skeleton import structure

_HELP = "give every example the structure, dtypes and constants of the first"


def read_examples(
    examples: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]],
    inputs: Inputs,
    signature: Signature,
    wishes: Wishes,
) -> tuple[tuple[Any, ...], ...]:
    """The leaves of every further example, and in `wishes` what differs from the first."""
    named = [(f"example {number}", each) for number, each in enumerate(examples, start=2)]
    return _read(named, inputs, signature, wishes)


def read_calibration(
    given: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]],
    inputs: Inputs,
    signature: Signature,
    wishes: Wishes,
) -> tuple[tuple[Any, ...], ...]:
    """The leaves of every calibration input: they ask for nothing, and must fit all the same."""
    named = [(f"calibration input {number}", each) for number, each in enumerate(given, start=1)]
    apart = Wishes(wishes.spelling)
    read = _read(named, inputs, signature, apart)
    wishes.problems += apart.problems
    return read


def _read(
    named: Iterable[tuple[str, tuple[tuple[Any, ...], Mapping[str, Any]]]],
    inputs: Inputs,
    signature: Signature,
    wishes: Wishes,
) -> tuple[tuple[Any, ...], ...]:
    read: list[tuple[Any, ...]] = []
    for name, (args, kwargs) in named:
        call = bind(signature, *given_call(signature, args, dict(kwargs)))
        other = read_inputs(call.bound)
        wishes.problems += [_of(name, problem) for problem in call.problems]
        if [leaf.name for leaf in other.leaves] != [leaf.name for leaf in inputs.leaves]:
            message = f"{name} has other inputs: {structure(other)}"
            help = f"the first has {structure(inputs)}; {_HELP}"
            wishes.problem("bad-structure", message, help)
            continue
        pairs = zip(inputs.leaves, other.leaves, strict=True)
        fitting = [_compared(*pair, name, wishes) for pair in pairs]  # every difference is told
        if all(fitting):
            read.append(tuple(copied(leaf.value) for leaf in other.leaves))
    return tuple(read)


def _of(name: str, problem: SpecProblem) -> SpecProblem:
    return SpecProblem(problem.kind, f"{name}: {problem.message}", problem.help)


def _compared(first: Leaf, other: Leaf, name: str, wishes: Wishes) -> bool:
    """Wishes for what differs; False where it is a difference that no file can follow."""
    if first.is_tensor and other.is_tensor:
        return _compared_tensors(first, other, name, wishes)
    if first.is_int and other.is_int:
        if first.value != other.value and first.name not in wishes.scalars:
            wishes.scalar(first, DimSpec())
        return True
    if type(first.value) is not type(other.value) or first.value != other.value:
        seen = f"`{first.path}` is {first.value!r} in the first example and {other.value!r}"
        wishes.problem("bad-structure", f"{seen} in {name}", _HELP)
        return False
    return True


def _compared_tensors(first: Leaf, other: Leaf, name: str, wishes: Wishes) -> bool:
    one, two = first.value, other.value
    if one.dtype != two.dtype or one.dim() != two.dim():
        seen = f"`{first.path}` is {_look(one)} in the first example and {_look(two)}"
        wishes.problem("bad-structure", f"{seen} in {name}", _HELP)
        return False
    wished = wishes.dims.get(first.name, {})
    for axis, (a, b) in enumerate(zip(one.shape, two.shape, strict=True)):
        if a != b and axis not in wished:
            wishes.dim(first, axis, DimSpec())
    return True


def _look(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
