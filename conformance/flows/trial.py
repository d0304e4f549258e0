"""One random program: exported as a user would, run by ONNX Runtime at other sizes and values, compared with torch."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import torch

from conformance.drawn import (
    Inputs,
    Program,
    Trial,
    attempted,
    cloned,
    in_words,
    judged,
    near,
    results,
)
from conformance.flows.drawing import draw
from conformance.results import Outcome

SIZES = (1, 2, 3, 5, 7, 11)
_SCALES = ((1.0, 0.0), (0.3, 0.0), (1.0, 0.5), (2.0, 0.0), (1.0, -1.0), (0.5, 1.0), (9.0, 0.0))
_COUNTS = ((1, 0, 2), (0, 1, 2), (2, 2, 0), (0, 0, 0), (-1, -3, 1), (1, 2, -2), (7, 40, 3))
_NUDGES = 3


def attempt(seed: int) -> tuple[Outcome, str, str]:
    """How the export of a seed's program ends, why, and the program itself."""
    program = draw(seed)
    return attempted(seed, program.source, functools.partial(_exported, program))


def dynamic(program: Program) -> bool:
    """Two of three; a program with fixed sizes is judged at other values alone."""
    return program.seed % 3 != 0


def _exported(program: Program, model: torch.nn.Module, file: Path) -> tuple[Outcome, str]:
    example = _example(program)
    try:
        model(**cloned(example))
    except Exception as error:  # whatever the program does wrong
        return Outcome.IDLE, in_words(error)
    sizes = {"x": {0: "n"}, "y": {0: "m"}, "t": None}
    shapes = {name: sizes[name] for name in program.inputs} if dynamic(program) else None
    return judged(model, file, example, shapes, lambda _: _tried(model, program))


def _tried(model: torch.nn.Module, program: Program) -> Iterator[Trial]:
    """Every value that torch has an answer for."""
    for inputs in _others(program):
        wanted = _settled(model, inputs)
        if wanted is not None:
            yield f"{_sizes(inputs)} of {_told_values(inputs)}", inputs, wanted


def _settled(model: torch.nn.Module, inputs: Inputs) -> list[Any] | None:
    """The results, where torch has some which last digits do not move: there, no file can be judged."""
    try:
        wanted = results(model, inputs)
    except Exception:  # the program is not made for these
        return None
    if not all(numpy.isfinite(value).all() for value in wanted):
        return None
    dice = torch.Generator().manual_seed(0)
    for _ in range(_NUDGES):
        moved = {
            name: value * (1 + 1e-6 * torch.randn(value.shape, generator=dice))
            if value.is_floating_point()
            else value
            for name, value in inputs.items()
        }
        try:
            if not near(wanted, results(model, moved)):
                return None
        except Exception:  # the same
            return None
    return wanted


def _example(program: Program) -> Inputs:
    return _inputs(program, 4 + program.seed % 3, 3, 0, torch.Generator().manual_seed(program.seed))


def _others(program: Program) -> Iterator[Inputs]:
    """At each size each kind of value: numbers read from them are 0, 1, 2, negative and large."""
    dice = torch.Generator().manual_seed(program.seed + 1)
    size = 4 + program.seed % 3
    for rows in (size, *SIZES) if dynamic(program) else (size,) * 4:
        for kind in range(len(_SCALES)):
            others = (3, 1, 2, 3, 4, 6, 3)[kind] if dynamic(program) else 3
            yield _inputs(program, rows, others, kind, dice)


def _inputs(program: Program, rows: int, others: int, kind: int, dice: torch.Generator) -> Inputs:
    scale, shift = _SCALES[kind]
    drawn = {
        "x": torch.randn(rows, 3, generator=dice) * scale + shift,
        "y": torch.randn(others, 3, generator=dice) * scale - shift,
        "t": torch.tensor(_COUNTS[kind]),
    }
    return {name: drawn[name] for name in program.inputs}


def _sizes(inputs: Inputs) -> str:
    return ", ".join(f"{name} {list(value.shape)}" for name, value in inputs.items())


def _told_values(inputs: Inputs) -> str:
    return ", ".join(f"{value.double().mean():.2f}" for value in inputs.values())
