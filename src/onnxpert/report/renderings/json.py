"""JSON: the report itself, value by value."""

from __future__ import annotations

from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report


@rendering("json", suffixes=(".json",))
def json(report: Report) -> str:
    """The whole report for other programs; docs/report.schema.json is its schema."""
    return report.to_json()
