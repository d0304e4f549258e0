"""Stage 9: everything the walk found, as one value; every rendering only reads it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from onnxpert.core.collect import collect
from onnxpert.core.errors import UsageError
from onnxpert.report import renderings
from onnxpert.report.rendering import Rendering
from onnxpert.report.report import SCHEMA, Action, Report

__all__ = ["SCHEMA", "Action", "Report", "catalogue", "for_file", "named"]


@functools.cache
def catalogue() -> Mapping[str, Rendering]:
    """Every rendering by its name."""
    return collect(renderings, Rendering, lambda each: (each.name,))


def named(name: str) -> Rendering:
    """The rendering of that name. Raises UsageError for others."""
    found = catalogue().get(name)
    if found is None:
        raise UsageError(f"there is no format {name!r}", f"one of {', '.join(catalogue())}")
    return found


def for_file(path: Path) -> Rendering:
    """The rendering that a file's suffix asks for. Raises UsageError where none does."""
    by_suffix = {suffix: each for each in catalogue().values() for suffix in each.suffixes}
    found = by_suffix.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            f"the suffix of {path} says no format", f"one of {' '.join(sorted(by_suffix))}"
        )
    return found
