"""What a strategy is: one way of turning a model into a graph, and its place in the order of trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from onnxpert.core.types import Captured, Loaded


def runs_as_python(loaded: Loaded) -> bool:
    """Everything but an exported program, which is a graph already."""
    return not isinstance(loaded.module, torch.export.ExportedProgram)


@dataclass(frozen=True)
class Strategy:
    """A rung: cheap and faithful ones come first."""

    name: str
    rung: int
    run: Callable[[Loaded], Captured]  # raises whatever the model or torch raises
    takes: Callable[[Loaded], bool] = runs_as_python  # the kinds of model it is meant for
    runs: bool = True  # the model's own Python, whose bytecode others read
    lines: bool = False  # goes by what its source says where that is asked for


def strategy(
    name: str,
    *,
    rung: int,
    takes: Callable[[Loaded], bool] = runs_as_python,
    runs: bool = True,
    lines: bool = False,
) -> Callable[[Callable[[Loaded], Captured]], Strategy]:
    def decorate(run: Callable[[Loaded], Captured]) -> Strategy:
        return Strategy(name, rung, run, takes, runs, lines)

    return decorate
