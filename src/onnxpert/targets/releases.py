"""What each release of ONNX Runtime takes: the highest opset and IR version.

Measured, each release asked itself with a model of one node (the CPU wheels for Linux)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from onnxpert.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Release:
    """A release of ONNX Runtime, by its first two numbers."""

    version: tuple[int, int]
    opset: int
    ir_version: int

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


RELEASES = (
    Release((1, 15), 18, 9),
    Release((1, 16), 19, 9),
    Release((1, 17), 20, 9),
    Release((1, 18), 21, 10),
    Release((1, 19), 21, 10),
    Release((1, 20), 21, 10),
    Release((1, 21), 22, 10),
    Release((1, 22), 22, 10),
    Release((1, 23), 23, 11),
    Release((1, 24), 25, 13),
    Release((1, 25), 26, 13),
    Release((1, 26), 26, 13),
    Release((1, 27), 26, 13),
    Release((1, 28), 26, 13),
    Release((1, 29), 26, 13),
    Release((1, 30), 26, 13),
    Release((1, 31), 26, 13),
)


def release(text: str) -> Release:
    """The release that `1.17` or `1.17.3` names. Raises UsageError for one that is not known."""
    numbers = re.match(r"v?(\d+)\.(\d+)(?:\.|$)", text.strip())
    version = (int(numbers[1]), int(numbers[2])) if numbers else None
    found = next((each for each in RELEASES if each.version == version), None)
    if found is None:
        raise UsageError(
            f"nothing is known of ONNX Runtime {text}",
            f"a release from {RELEASES[0]} to {RELEASES[-1]}, such as {RELEASES[2]}",
        )
    return found


def oldest(opset: int, ir_version: int) -> Release | None:
    """The first release that takes such files."""
    fitting = (each for each in RELEASES if each.opset >= opset and each.ir_version >= ir_version)
    return next(fitting, None)
