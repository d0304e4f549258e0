"""The two ways out other than a value: the user misused us, or we have a bug."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxpert.report import Report


class UsageError(Exception):
    """The call itself cannot be right: what was seen, and what to write instead."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message + (f"\n  = help: {help}" if help else ""))
        self.message = message
        self.help = help


class ExportError(Exception):
    """The model cannot be exported as it stands; `.report` holds every reason."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


class BugError(Exception):
    """Something that must not happen: ours to mend, never the user's."""
