"""The runtimes a file may be made for: what each one accepts, and how to run a file on it."""

from __future__ import annotations

from functools import cache

from onnxpert.core.collect import collect
from onnxpert.core.errors import UsageError
from onnxpert.targets import runtimes
from onnxpert.targets.target import Array, Run, Target, target

__all__ = ["Array", "Run", "Target", "catalogue", "find", "target"]


@cache
def catalogue() -> dict[str, Target]:
    """Every target by its name."""
    return collect(runtimes, Target, lambda entry: (entry.name,))


def find(name: str) -> Target:
    """The target of that name; UsageError with the known names when there is none."""
    known = catalogue()
    if name not in known:
        raise UsageError(f"there is no target {name!r}", f"the targets are: {', '.join(known)}")
    return known[name]
