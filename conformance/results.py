"""What a run finds out, as values: a row for each sample, and what is known of each operator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path


class Outcome(StrEnum):
    """How the export of one sample ended."""

    RIGHT = "right"
    REFUSED = "refused"  # no file, and the reasons
    FAILED = "failed"  # an exception that is no diagnosis
    UNLOADABLE = "unloadable"  # the runtime does not take the file
    WRONG = "wrong"  # a file that computes something else
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    IDLE = "idle"  # torch itself refuses the sample, or gives no tensor: nothing to export


@dataclass(frozen=True, slots=True)
class Form:
    """One way to export every operator: in a dtype, with fixed sizes or all of them open."""

    dtype: str
    dynamic: bool = False

    def __str__(self) -> str:
        return f"{self.dtype}, dynamic" if self.dynamic else self.dtype


@dataclass(frozen=True, slots=True)
class Row:
    """One sample of one operator in one form."""

    operator: str
    dtype: str
    dynamic: bool
    sample: int
    outcome: Outcome
    detail: str = ""
    call: str = ""  # the sample in words: `float32[2, 3], dim=1`

    @property
    def form(self) -> Form:
        return Form(self.dtype, self.dynamic)


@dataclass(frozen=True, slots=True)
class Facts:
    """What one right sample tells of its operator."""

    operator: str
    sources: tuple[str, ...]
    lowest_opset: int


Entry = Row | Facts


def written(entry: Entry) -> str:
    """An entry as a line of the journal."""
    return json.dumps(asdict(entry))


def read(path: Path) -> Iterator[Entry]:
    """The entries of a journal; a line that was cut short is none."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            fields = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "outcome" in fields:
            yield Row(**{**fields, "outcome": Outcome(fields["outcome"])})
        else:
            yield Facts(**{**fields, "sources": tuple(fields["sources"])})
