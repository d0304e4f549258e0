"""A line of output whose parts know their role, so that plain text and colour share one layout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a part of a line is; the terminal gives each a colour, plain text gives none."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    INFO = "info"
    PLACE = "place"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Part:
    """Some text of one role."""

    text: str
    role: Role = Role.PLAIN


@dataclass(frozen=True, slots=True)
class Line:
    """Parts side by side; what does not fit goes on below, indented by `hang`."""

    parts: tuple[Part, ...] = ()
    hang: int = 0
    anywhere: bool = False  # a path: broken where the row ends, not at its few spaces

    def __str__(self) -> str:
        # Plain text is never folded: a log is searched, and each fact must be found on its line.
        text = "".join(part.text for part in self.parts)
        return text.replace("\n", "\n" + " " * self.hang).rstrip()


def line(*parts: str | tuple[str, Role], hang: int = 0, anywhere: bool = False) -> Line:
    """A line of texts, or of (text, role) pairs."""
    made = (Part(each) if isinstance(each, str) else Part(*each) for each in parts)
    return Line(tuple(made), hang, anywhere)
