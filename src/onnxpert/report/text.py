"""A report as plain text: for logs, pipes and the text of an exception."""

from __future__ import annotations

from onnxpert.report import layout
from onnxpert.report.report import Report


def render(report: Report) -> str:
    return "\n".join(map(str, layout.lines(report)))
