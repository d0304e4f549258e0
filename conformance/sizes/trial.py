"""One random program of sizes: exported as a user would, compared with torch at every size that its file claims."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import numpy
import onnx_ir as ir
import torch

from conformance.drawn import Inputs, Trial, attempted, judged, results
from conformance.results import Outcome
from conformance.sizes.drawing import Sized, draw
from conformance.sizes.grammar import INPUTS

# Of a, b, c and d.
_SIZES = (
    (1, 1, 1, 1), (1, 4, 2, 3), (4, 1, 3, 2), (2, 2, 2, 2), (3, 5, 7, 11), (5, 3, 4, 6), (7, 7, 7, 7),
    (8, 12, 4, 16), (9, 2, 1, 13), (13, 11, 6, 5), (2, 17, 9, 4), (6, 6, 1, 1), (16, 9, 12, 10),
    (1, 13, 8, 9),
)  # fmt: skip
_RANGE = "onnxpert.dim."


def attempt(seed: int) -> tuple[Outcome, str, str]:
    """How the export of a seed's program ends, why, and the program itself."""
    program = draw(seed)
    return attempted(seed, program.source, functools.partial(_exported, program))


def _exported(program: Sized, model: torch.nn.Module, file: Path) -> tuple[Outcome, str]:
    example = _inputs(program, program.example)
    named = {name: dict(enumerate(INPUTS[name])) for name in program.inputs}
    shapes = "auto" if program.seed % 3 == 0 else named
    return judged(model, file, example, shapes, lambda made: _tried(model, program, made))


def _tried(model: torch.nn.Module, program: Sized, made: ir.Model) -> Iterator[Trial]:
    """All sizes that both are made for."""
    for sizes in (dict(zip("abcd", each, strict=True)) for each in _SIZES):
        inputs = _inputs(program, sizes)
        try:
            wanted = results(model, inputs)
        except Exception:  # the program is not made for these
            continue
        if all(numpy.isfinite(want).all() for want in wanted) and _claims(made, inputs):
            yield str(sizes), inputs, wanted


def _claims(file: ir.Model, inputs: Inputs) -> bool:
    """Whether the file says that it takes these sizes: a number is that number, a name one size
    wherever it stands and in its range, and `2*batch` follows from names."""
    told: dict[str, int] = {}
    wanted: list[tuple[str, int]] = []
    for value in file.graph.inputs:
        sizes = inputs[str(value.name)].shape
        for dim, size in zip(value.shape or (), sizes, strict=True):
            word = str(dim if isinstance(dim, int) else dim.value)
            wanted.append((word, size))
            if word.isidentifier():
                told.setdefault(word, size)
    if any(eval(word, {}, told) != size for word, size in wanted):
        return False
    return all(_in_range(file.metadata_props.get(_RANGE + name), told[name]) for name in told)


def _in_range(said: str | None, size: int) -> bool:
    low, _, high = (said or "..").partition("..")
    return int(low or 0) <= size <= int(high or size)


def _inputs(program: Sized, sizes: dict[str, int]) -> Inputs:
    dice = torch.Generator().manual_seed(program.seed)
    return {
        name: torch.randn(*(sizes[axis] for axis in INPUTS[name]), generator=dice)
        for name in program.inputs
    }
