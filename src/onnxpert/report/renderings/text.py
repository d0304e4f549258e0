"""Plain text, as a terminal without colour shows it."""

from __future__ import annotations

from onnxpert.report import layout
from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report


@rendering("text", suffixes=(".txt", ".log"))
def text(report: Report) -> str:
    """What the terminal shows, without colour: for logs, pipes and the text of an exception."""
    return "\n".join(map(str, layout.lines(report)))
