"""What a target is: a runtime's limits, and how to run a file on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

# A runtime's input and output arrays, numpy's; bfloat16 and float8 are numpy arrays of ml_dtypes.
Array: TypeAlias = Any
# Feeds by input name in, every output of the file in its order out.
Run: TypeAlias = Callable[[Mapping[str, Array]], list[Array]]


@dataclass(frozen=True)
class Target:
    """A place where the file shall run."""

    name: str
    opsets: range
    default_opset: int
    open: Callable[[Path], Run]  # raises whatever the runtime raises when it refuses the file
    limits: Callable[[], tuple[int, int] | None]  # (opset, IR) the installed runtime takes
    about: str


def target(
    name: str,
    *,
    opsets: range,
    default_opset: int,
    limits: Callable[[], tuple[int, int] | None] = lambda: None,
) -> Callable[[Callable[[Path], Run]], Target]:
    """Make a `Target` of a function that opens a file and returns how to run it."""

    def decorate(open_file: Callable[[Path], Run]) -> Target:
        about = inspect.getdoc(open_file) or ""
        return Target(name, opsets, default_opset, open_file, limits, about)

    return decorate
