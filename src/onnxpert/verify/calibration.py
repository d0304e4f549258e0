"""The inputs that a quantiser measures a file on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Loaded
from onnxpert.targets.target import Array
from onnxpert.verify import cases
from onnxpert.verify.accuracy import completed
from onnxpert.verify.file import facts, read
from onnxpert.verify.inputs import Case, Inputs, bind
from onnxpert.verify.values import Values


def feeds(loaded: Loaded, path: Path, made: int) -> list[dict[str, Array]]:
    inputs = bind(loaded, facts(read(path)))
    if not loaded.calibration:
        return [inputs.feeds(leaves) for leaves in _made(inputs, made)]
    found = []
    for number, given in enumerate(loaded.calibration, start=1):
        leaves = completed(loaded, given)
        _check(inputs, leaves, number)
        found.append(inputs.feeds(leaves))
    return found


def _made(inputs: Inputs, many: int) -> list[tuple[Any, ...]]:
    first = cases.example(inputs)
    others = [wish.ways[0] for wish in cases.given(inputs)]
    others += [Case(f"shuffled {at}", inputs.example, Values.SHUFFLED) for at in range(many)]
    return [inputs.build(case, seed) for seed, case in enumerate((first, *others))]


def _check(inputs: Inputs, leaves: tuple[Any, ...], number: int) -> None:
    for bound in inputs.bound:
        value = leaves[bound.position]
        if not isinstance(value, torch.Tensor):
            continue
        for axis, (dim, size) in enumerate(zip(bound.dims, value.shape, strict=True)):
            if isinstance(dim, int) and dim != size:
                raise UsageError(
                    f"calibration input {number}: axis {axis} of {bound.input.name} is {size}, "
                    f"and the file takes {dim} only",
                    "give inputs of the example's sizes, or make that axis dynamic",
                )
