"""Calls of the model and of the file that are no part of a proof."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnxpert.core.types import Loaded
from onnxpert.targets.target import Target
from onnxpert.verify.compare import compare
from onnxpert.verify.file import facts, read
from onnxpert.verify.inputs import bind
from onnxpert.verify.reference import Reference


def first_difference(
    loaded: Loaded, path: Path, target: Target, many: Sequence[Sequence[Any]]
) -> int | None:
    """The first of these inputs that the model takes and for which the file gives something else,
    without an error."""
    run, inputs = target.open(path), bind(loaded, facts(read(path)))
    with Reference(loaded, 0) as reference:
        for place, leaves in enumerate(many):
            try:
                want = reference.call(leaves)
                got = run(inputs.feeds(leaves))
            except Exception:  # the model's, or of a runtime; what is refused is not wrong
                continue
            if any(compare(a, b).problem for a, b in zip(want, got, strict=True)):
                return place
    return None
