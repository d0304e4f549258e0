"""The renderings by name, for the command line."""

from __future__ import annotations

from pathlib import Path

from onnxpert.report import Report, catalogue, for_file

__all__ = ["Report", "format_of", "names"]


def names() -> tuple[str, ...]:
    """Every format, the plain ones first."""
    first = ("text", "json")
    return (*first, *(name for name in catalogue() if name not in first))


def format_of(path: Path) -> str:
    """The format that a file's suffix asks for. Raises UsageError where none does."""
    return for_file(path).name
