"""A file beside what its target can run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from onnxpert.core.types.findings import Location


class Limit(StrEnum):
    """What of a target a model goes beyond."""

    OPERATOR = "operator"  # it has none such
    DTYPE = "dtype"  # it has the operator, and not in this type
    FORM = "form"  # it has the operator, and not in this form: an attribute, a rank, an input
    NARROWER = "narrower"  # it computes in a narrower type
    DYNAMIC = "dynamic"  # sizes that vary ask for something there
    BYTES = "bytes"
    ELSEWHERE = "elsewhere"  # it runs, and not where the target would have it run
    VERSION = "version"  # opset or IR


@dataclass(frozen=True, slots=True)
class Beyond:
    """One place where a model goes beyond what a target takes."""

    limit: Limit
    what: str  # the operator, `weights`, `opset 27`, ...
    detail: str = ""  # the dtype; or the rest of the sentence
    help: str = ""
    node: str = ""  # its name in the file
    location: Location | None = None
    repaired: str = ""  # the name of the repair that was made


@dataclass(frozen=True, slots=True)
class Fitting:
    """What the tables of a target say of a model."""

    target: str
    source: str  # of the tables, with the version
    beyond: tuple[Beyond, ...] = ()


@dataclass(frozen=True, slots=True)
class Absent:
    """A target whose runtime is not here: the proof runs on another."""

    target: str
    reason: str
    help: str
    stand_in: str
    runs_only: bool = False  # nothing is proven: there is no model beside the file
    lacking: str = ""  # why the other one cannot run this file either
    widened: bool = False  # what runs there is in float32 where that one has no kernels


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a file from anywhere: what the standard and a run with made-up inputs say."""

    target: str
    invalid: tuple[str, ...] = ()
    ran: bool = False  # with those inputs
    failed: str = ""  # what the runtime raised with them
    location: Location | None = None
