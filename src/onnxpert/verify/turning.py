"""The example with other values at its own sizes, in ways that a branch may tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch

from onnxpert.verify.inputs import Aim, Case, Inputs
from onnxpert.verify.values import Values

_WAYS = {
    Values.NEGATED: "values negated",
    Values.NEGATIVE: "values all negative",
    Values.POSITIVE: "values all positive",
    Values.LARGE: "values x 100",
    Values.SMALL: "values x 0.01",
    Values.HIGHER: "values + 10",
    Values.LOWER: "values - 10",
    Values.ZERO: "values all 0",
    Values.ONE: "values all 1",
    Values.HUGE: "values x 10000",
    Values.NAN: "values with a NaN",
}
_DRAWN = "values drawn anew"
_DRAWS = 8
_AIMED = ": "
_LED = "values that lead to line "
_WITH_A_NUMBER = {Values.FILLED: "values all ", Values.HOLDING: "values with "}


def turned(inputs: Inputs) -> Iterator[Case]:
    """All inputs changed at once."""
    for values, name in _WAYS.items():
        yield Case(name, inputs.example, values)
    for number in range(_DRAWS):
        yield Case(f"{_DRAWN} ({number})", inputs.example, Values.WILD)


def aimed(inputs: Inputs, numbers: Iterable[float]) -> Iterator[Case]:
    """One input changed alone, first to the numbers that the model compares something with: what
    opens a branch may be one flag beside others that must stay what they are."""
    leaves = [inputs.loaded.leaves[bound.position] for bound in inputs.bound]
    tensors = {leaf.name: leaf.value for leaf in leaves if isinstance(leaf.value, torch.Tensor)}
    for number in numbers:
        for leaf, value in tensors.items():
            for values, name in _WITH_A_NUMBER.items() if _holds(value, number) else ():
                aim = Aim(leaf, number)
                yield Case(f"{leaf}{_AIMED}{name}{number}", inputs.example, values, aim=aim)
    for leaf in tensors if len(tensors) > 1 else ():
        for values, name in _WAYS.items():
            yield Case(f"{leaf}{_AIMED}{name}", inputs.example, values, aim=Aim(leaf))


def led(inputs: Inputs, found: Mapping[str, torch.Tensor], line: int, number: int) -> Case:
    """Values that were searched for: what opens a side of the branch in that line."""
    return Case(f"{_LED}{line} ({number})", inputs.example, Values.REPEATED, found=found)


def _holds(value: torch.Tensor, number: float) -> bool:
    if value.dtype is torch.bool or value.is_complex() or value.is_quantized or not value.numel():
        return False
    if value.is_floating_point():
        return abs(number) <= torch.finfo(value.dtype).max
    limits = torch.iinfo(value.dtype)
    return isinstance(number, int) and limits.min <= number <= limits.max


def retold(name: str, sizes: Mapping[str, int]) -> Case | None:
    """The case that one of these, or one moved to other sizes, was called so."""
    plain = name.partition(", ")[0]
    leaf, at, way = plain.rpartition(_AIMED)
    aim = Aim(leaf) if at else None
    values = {name: values for values, name in _WAYS.items()}.get(way)
    if values is not None:
        return Case(name, sizes, values, aim=aim)
    if way.startswith(_LED):
        return Case(name, sizes, Values.REPEATED)
    if way.startswith(_DRAWN):
        return Case(name, sizes, Values.WILD)
    for values, start in _WITH_A_NUMBER.items():
        if way.startswith(start):
            return Case(name, sizes, values, aim=Aim(leaf, _number(way.removeprefix(start))))
    return None


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)
