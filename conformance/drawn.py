"""A model that was drawn: its file as Python sees it, how its export ends, and how near its results are."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import onnx_ir as ir
import torch

import onnxpert
from conformance.results import Outcome
from onnxpert.targets import find

FURTHEST = 300  # characters of a reason
_TOLERANCE = 1e-3

Inputs = dict[str, torch.Tensor]
Trial = tuple[str, Inputs, list[Any]]  # what to call it, what goes in, and what torch gives


@dataclass(frozen=True, slots=True)
class Program:
    """A module as text, and the inputs that its forward has."""

    seed: int
    source: str
    inputs: tuple[str, ...]
    first_line: int  # of what was drawn


def attempted(
    seed: int, source: str, tried: Callable[[torch.nn.Module, Path], tuple[Outcome, str]]
) -> tuple[Outcome, str, str]:
    """How the trial of a program ends, why, and the program itself, which is a file of its own."""
    with tempfile.TemporaryDirectory(prefix="drawn-") as directory, torch.no_grad():
        file = Path(directory) / f"drawn_{seed}.py"
        file.write_text(source, encoding="utf-8")
        torch.manual_seed(seed)
        outcome, detail = tried(imported(file).Program().eval(), file)
    return outcome, detail, source


def imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_file(
    export: Callable[[], object], path: Path, unsaid: Callable[[onnxpert.Report], str]
) -> tuple[Outcome, str] | None:
    """How an export ended that gave no file, and why; None: there is one.

    `unsaid` is what a refusal leaves out, "" when it says it all."""
    try:
        export()
    except onnxpert.ExportError as error:
        told = "; ".join(f"{f.rule}: {f.message}" for f in error.report.findings if f.blocks)
        left = "a file was left behind" if path.exists() else unsaid(error.report)
        return (Outcome.FAILED, f"{left}: {told}") if left else (Outcome.REFUSED, told)
    except Exception as error:  # a bug of ours is a row as well
        return Outcome.FAILED, in_words(error)
    return None


def judged(
    model: torch.nn.Module,
    file: Path,
    example: Inputs,
    dynamic_shapes: Any,
    tried: Callable[[ir.Model], Iterable[Trial]],
) -> tuple[Outcome, str]:
    """A program exported as a user would, and its file held against torch at all that it is `tried` at."""
    path = file.with_suffix(".onnx")
    without = without_file(
        lambda: onnxpert.export(
            model, (), path, kwargs=cloned(example), dynamic_shapes=dynamic_shapes
        ),
        path,
        lambda report: _no_line(report, file),
    )
    return without or _compared(path, tried)


def _compared(path: Path, tried: Callable[[ir.Model], Iterable[Trial]]) -> tuple[Outcome, str]:
    try:
        run, file = find("ort-cpu").open(path), ir.load(path)
    except Exception as error:  # whatever the runtime has to say
        return Outcome.UNLOADABLE, in_words(error)
    names = {str(value.name) for value in file.graph.inputs}
    count = 0
    for words, inputs, wanted in tried(file):
        count += 1
        try:
            got = run({name: value.numpy() for name, value in inputs.items() if name in names})
        except Exception as error:  # the same
            return Outcome.UNLOADABLE, f"at {words}: {in_words(error)}"
        if not near(wanted, got):
            said = f"at {words}: the model gives {wanted}, the file {got}"
            return Outcome.WRONG, said[:FURTHEST]
    return Outcome.RIGHT, f"{count} inputs"


def _no_line(report: onnxpert.Report, file: Path) -> str:
    """What a refusal leaves out: a reason, or the line of the program that it is about."""
    blocking = [finding for finding in report.findings if finding.blocks]
    for finding in blocking:
        where = finding.location
        if where is None or Path(where.file).name != file.name:
            return f"{finding.rule} names no line of the program"
    return "" if blocking else "refused without a reason"


def results(model: torch.nn.Module, inputs: Inputs) -> list[Any]:
    return [numpy.asarray(value) for value in model(**cloned(inputs))]


def cloned(inputs: Inputs) -> Inputs:
    return {name: value.clone() for name, value in inputs.items()}


def near(wanted: Sequence[Any], got: Sequence[Any]) -> bool:
    return len(wanted) == len(got) and all(
        want.shape == numpy.shape(have)
        and numpy.allclose(want, have, rtol=_TOLERANCE, atol=_TOLERANCE)
        for want, have in zip(wanted, got, strict=True)
    )


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:FURTHEST]
