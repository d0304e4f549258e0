"""How long a walk may take and how much memory it may hold, as people write it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from onnxpert.core.errors import UsageError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits; None: as much as it takes."""

    seconds: float | None = None
    bytes: int | None = None

    def __bool__(self) -> bool:
        return self.seconds is not None or self.bytes is not None


def read_bytes(value: object, what: str = "max_memory") -> int:
    """The bytes that `8G`, `512MiB` or a plain number stand for. Raises UsageError."""
    found = _SIZE.fullmatch(str(value).strip())
    size = int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if size <= 0:
        kind = "an amount of memory" if what == "max_memory" else "a size"
        raise UsageError(f"{what}: {value!r} is not {kind}", "such as 8G or 512M")
    return size


def read_external_data(value: object) -> bool | int:
    """Whether the weights go beside the file, or how many bytes a file of theirs may have."""
    return value if isinstance(value, bool) else read_bytes(value, "external_data")


def read_seconds(value: object) -> float:
    """Raises UsageError for what is not a positive number."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"timeout: {value!r} is not a number of seconds", "such as 60")
    return seconds


def told_bytes(size: int) -> str:
    """`8 GiB`, `512 MiB`: the unit in which it is a short number."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size / 1024:.4g} KiB"
