"""What a strategy is: one way of turning a model into a graph, and its place in the order of trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onnxpert.core.types import Captured, Loaded


@dataclass(frozen=True)
class Strategy:
    """A rung: cheap and faithful ones come first."""

    name: str
    rung: int
    run: Callable[[Loaded], Captured]  # raises whatever the model or torch raises


def strategy(name: str, *, rung: int) -> Callable[[Callable[[Loaded], Captured]], Strategy]:
    def decorate(run: Callable[[Loaded], Captured]) -> Strategy:
        return Strategy(name, rung, run)

    return decorate
