"""What a target is: a runtime's limits, and how to run a file on it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities

# A runtime's input and output arrays, numpy's; bfloat16 and float8 are numpy arrays of ml_dtypes.
Array: TypeAlias = Any
_UNKNOWN = Capabilities("")
# Feeds by input name in, every output of the file in its order out.
Run: TypeAlias = Callable[[Mapping[str, Array]], list[Array]]


@dataclass(frozen=True)
class Target:
    """A place where the file shall run."""

    name: str
    opsets: range
    default_opset: int
    open: Callable[..., Run]  # raises whatever the runtime raises when it refuses the file
    limits: Callable[[], tuple[int, int] | None]  # (opset, IR) the installed runtime takes
    about: str
    capabilities: Capabilities = _UNKNOWN
    absent: Callable[[], str] = lambda: ""  # why it cannot run here; "": it can
    install: str = ""  # what to do about that
    stand_in: str = ""  # the target that the proof runs on then; "": there is none

    def with_kernels(self, libraries: tuple[str, ...]) -> Target:
        """The same, with the kernels of custom operators; UsageError where it takes none."""
        if not libraries:
            return self
        if "libraries" not in inspect.signature(self.open).parameters:
            raise UsageError(
                f"the target {self.name} takes no kernel library", "leave kernel_library out"
            )
        for library in libraries:
            if not Path(library).is_file():
                raise UsageError(
                    f"there is no kernel library {library}", "give the path of a shared library"
                )
        whole = tuple(str(Path(library).resolve()) for library in libraries)
        return replace(self, open=functools.partial(self.open, libraries=whole))


def target(
    name: str,
    *,
    opsets: range,
    default_opset: int,
    limits: Callable[[], tuple[int, int] | None] = lambda: None,
    capabilities: Capabilities = _UNKNOWN,
    absent: Callable[[], str] = lambda: "",
    install: str = "",
    stand_in: str = "",
) -> Callable[[Callable[..., Run]], Target]:
    """Make a `Target` of a function that opens a file and returns how to run it.

    One that also has a parameter `libraries` can run custom operators from kernel libraries. Where
    the runtime is not there, `absent` says why, and proofs run on the target `stand_in`."""

    def decorate(open_file: Callable[..., Run]) -> Target:
        return Target(
            name,
            opsets,
            default_opset,
            open_file,
            limits,
            inspect.getdoc(open_file) or "",
            capabilities,
            absent,
            install,
            stand_in,
        )

    return decorate
