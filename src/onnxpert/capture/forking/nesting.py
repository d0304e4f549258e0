"""Whether a function of the model's calls itself until a size says that it is enough."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onnxpert.capture.forking.questions import Question


def recurses(questions: Iterable[Question]) -> bool:
    """Whether one question is asked at several depths of one module's function."""
    depths: dict[Any, set[int]] = {}
    for question in questions:
        if not question.frames:
            continue
        file, _, name = question.frames[-1][:3]
        depth = sum((frame[0], frame[2]) == (file, name) for frame in question.frames)
        depths.setdefault((question.module, question.frames[-1]), set()).add(depth)
    return any(len(found) > 1 for found in depths.values())
