"""The values that a run of the benchmark gives, to JSON and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Subject:
    """A model that was to be measured."""

    name: str
    about: str
    counted: bool = True  # in the geometric means
    layers: int | None = None  # of a model that is measured at several depths
    absent: str = ""  # why it could not be built here


@dataclass(frozen=True, slots=True)
class Cost:
    """One exporter on one model, in a process of its own. Seconds are CPU seconds."""

    model: str
    exporter: str
    cold_s: float | None = None
    warm_s: float | None = None
    start_mib: float | None = None  # resident just before the first export: the imports, the model
    peak_mib: float | None = None
    peak_is_of_process: bool = False  # the counter could not be reset before the export
    nodes: int | None = None
    file_bytes: int | None = None
    proof_s: float | None = None
    proven: bool | None = None
    pace_s: float | None = None  # a fixed piece of work in the same process
    error: str = ""
    warm_error: str = ""
    proof_error: str = ""

    @property
    def seconds(self) -> float | None:
        """The second export's; the first one's where a process exports such a model only once."""
        return self.cold_s if self.warm_s is None else self.warm_s

    def over(self, other: Cost | None, *, cold: bool = False) -> float | None:
        """How many times the cost of the other: of first exports, or where both have one of second."""
        if other is None:
            return None
        cold = cold or self.warm_s is None or other.warm_s is None
        above, below = (self.cold_s, other.cold_s) if cold else (self.warm_s, other.warm_s)
        return above / below if above and below else None


@dataclass(frozen=True, slots=True)
class Latency:
    """One file in the runtime, or the model in eager torch. Milliseconds of the calling thread.

    The exporter "NAME again" is the file of NAME once more: what it differs by is noise."""

    model: str
    exporter: str
    median_ms: float | None = None
    p10_ms: float | None = None
    samples: int = 0
    difference: float | None = None  # the largest to eager, at sizes that were not exported
    relative: float | None = None  # ... as a part of the largest value of its output
    error: str = ""

    @property
    def wrong(self) -> bool:
        """Far beyond what another order of float32 additions explains, or not to be run at all."""
        return bool(self.error) or self.relative is None or not self.relative <= 1e-3


Measured = TypeVar("Measured", Cost, Latency)


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and with what it was measured."""

    day: str
    machine: str
    versions: tuple[tuple[str, str], ...]
    whole: bool  # every model and every exporter


@dataclass(frozen=True, slots=True)
class Results:
    setting: Setting
    subjects: tuple[Subject, ...]
    costs: tuple[Cost, ...]
    latencies: tuple[Latency, ...]

    def cost(self, model: str, exporter: str) -> Cost | None:
        return _of(self.costs, model, exporter)

    def latency(self, model: str, exporter: str) -> Latency | None:
        return _of(self.latencies, model, exporter)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        data = json.loads(text)
        versions = tuple((name, version) for name, version in data["setting"].pop("versions"))
        return cls(
            Setting(**data["setting"], versions=versions),
            tuple(Subject(**row) for row in data["subjects"]),
            tuple(Cost(**row) for row in data["costs"]),
            tuple(Latency(**row) for row in data["latencies"]),
        )


def _of(rows: Iterable[Measured], model: str, exporter: str) -> Measured | None:
    return next((row for row in rows if (row.model, row.exporter) == (model, exporter)), None)


def said(error: BaseException) -> str:
    """An exception on one line, with the one it came from."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return _line(error, 300) if root is error else f"{_line(error, 100)}; from {_line(root, 300)}"


def _line(error: BaseException, length: int) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", f"{type(error).__name__}: {error}")  # colours
    text = " ".join(plain.split())
    return text if len(text) <= length else f"{text[: length - 3]}..."


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
