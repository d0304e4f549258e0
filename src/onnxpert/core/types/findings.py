"""What is said of a model: a hit of a rule, and the finding it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is: an error means no proven file."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Safety(StrEnum):
    """What a repair may change: nothing, something (asks consent), or it is only ever printed."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's own source, and the module path that was running it."""

    file: str
    line: int
    module: str = ""
    function: str = ""
    code: str = ""
    column: int = 0  # of the expression, counted from 1 as editors do; 0: unknown
    end_column: int = 0  # one past its last character, on the same line
    # The calls in the user's own code that led here, outermost first; a finding has them as `stack`.
    calls: tuple[Location, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.module}" if self.module else "")


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule yields: the finding without what the catalogue already knows."""

    message: str
    at: Location | None = None
    help: str = ""
    notes: tuple[str, ...] = ()
    severity: Severity | None = None  # None: the rule's own


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, at one place, with its cure."""

    rule: str
    severity: Severity
    message: str
    location: Location | None = None
    help: str = ""
    notes: tuple[str, ...] = ()
    repaired: bool = False
    repair: str = ""  # the name of the repair that cured it
    count: int = 1  # how many places said the same; `location` is the first
    modules: tuple[str, ...] = ()  # module paths of all those places
    stack: tuple[Location, ...] = ()  # calls within the user's code, outermost first
    diff: str = ""  # unified diff of the user's own file that cures it

    @property
    def blocks(self) -> bool:
        return self.severity is Severity.ERROR and not self.repaired
