"""How numbers, sizes, times and places read in a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from onnxpert.core.types import Finding, Location, Symbol

MOST_MODULES = 6  # module paths named one by one


def several(count: int, noun: str) -> str:
    """`1 error`, `2 errors`, `2,470 nodes`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def size(count_bytes: int) -> str:
    """`312 B`, `1.2 MB`, in powers of ten as file managers say it."""
    amount = float(count_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        # 999.95 would be rounded to 1000.0
        if amount < (1000 if unit == "B" else 999.95):
            return f"{count_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def seconds(amount: float) -> str:
    """`12ms`, `0.42s`, `12.3s`, `2m05s`: without a space, so that no line ends inside it."""
    if not math.isfinite(amount):
        return f"{amount:g}s"
    if amount < 0.0995:
        return f"{amount * 1000:.0f}ms"
    if amount < 9.995:
        return f"{amount:.2f}s"
    if amount < 59.95:
        return f"{amount:.1f}s"
    minutes, rest = divmod(round(amount), 60)
    return f"{minutes}m{rest:02d}s"


def error(value: float | None) -> str:
    """How far off an output is: `0` says that not a bit differs, `-` that nothing was compared."""
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.1e}"


def share(value: float | None) -> str:
    """A part of the whole: `1.13%`, and what is next to nothing as a power of ten."""
    if value is None:
        return "-"
    return f"{value:.2%}" if 1e-4 <= value < 1e4 else error(value)


def tolerance(rtol: float | None, atol: float | None) -> str:
    if rtol is None or atol is None:
        return "-"
    if rtol == 0 and atol == 0:
        return "exact"
    return f"{_short(rtol)} rel + {_short(atol)} abs"


def _short(value: float) -> str:
    """`1e-3` rather than 0.001 or 1e-03; `0.13` as it is."""
    if value == 0 or value >= 0.05:
        return f"{value:g}"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def sizes(values: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def span(symbol: Symbol) -> str:
    """The sizes a dynamic dimension may take: `batch >= 1`, `2 <= seq <= 512`."""
    if symbol.upper is None:
        return f"{symbol.name} >= {symbol.lower}"
    if symbol.upper == symbol.lower:
        return f"{symbol.name} = {symbol.lower}"
    return f"{symbol.lower} <= {symbol.name} <= {symbol.upper}"


def path(name: str | Path) -> str:
    """A path as the user would type it: relative where it lies below the working directory."""
    given = Path(name)
    try:
        return str(given.relative_to(Path.cwd()))
    except (ValueError, OSError):  # OSError: the working directory is gone
        return str(name)


def place(location: Location) -> str:
    """`model.py:6 in encoder`."""
    where = path(location.file) + (f":{location.line}" if location.line else "")
    inside = location.module or location.function
    return where + (f" in {inside}" if inside else "")


def posix(name: str | Path) -> str:
    """A path for other programs: relative where it lies below here, with forward slashes."""
    return path(name).replace("\\", "/")


def repeated(finding: Finding) -> str:
    """`at 12 places: layers.[0-11].attn`, `10 times`, or "" for what was found once."""
    if finding.count <= 1 and len(finding.modules) <= 1:
        return ""
    times = max(finding.count, len(finding.modules))
    if len(finding.modules) < 2:
        return several(times, "time")
    return f"at {several(times, 'place')}: {modules(finding.modules)}"


def further(finding: Finding) -> str:
    """What goes behind the first place: `and 2 more places`, in as many modules, or `10 times`."""
    if len(finding.modules) < 2:
        return several(finding.count, "time")
    return f"and {several(finding.count - 1, 'more place')}"


def modules(paths: Iterable[str]) -> str:
    """Module paths, those that differ in one number only as one: `layers.[0-11].attn`."""
    told = _numbered(tuple(paths))
    # One too many is shown rather than counted: "and 1 more" takes the same room.
    shown = told if len(told) <= MOST_MODULES + 1 else told[:MOST_MODULES]
    rest = len(told) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _numbered(paths: tuple[str, ...]) -> list[str]:
    groups: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for each in paths:
        # The first number is the loop that a reader sees; those below it are part of the name.
        found = re.search(r"(?:(?<=\.)|^)\d+(?=\.|$)", each)
        key = (each[: found.start()], each[found.end() :]) if found else (each,)
        groups.setdefault(key, []).append((each, int(found.group()) if found else 0))
    return [
        members[0][0] if len(members) == 1 else f"[{_ranges(members)}]".join(key)
        for key, members in groups.items()
    ]


def _ranges(members: Iterable[tuple[str, int]]) -> str:
    """`0-3, 7` for 0, 1, 2, 3 and 7."""
    runs: list[list[int]] = []
    for number in sorted({number for _, number in members}):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
