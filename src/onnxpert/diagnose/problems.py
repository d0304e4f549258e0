"""Problems that loading already put into words, as hits of the rule for their kind."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded


def problems(loaded: Loaded, kind: str) -> Iterator[Hit]:
    for problem in loaded.problems:
        if problem.kind == kind:
            yield Hit(problem.message, at=loaded.source, help=problem.help)
