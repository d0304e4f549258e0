"""HTML: one page that needs nothing but itself."""

from __future__ import annotations

from onnxpert.report.page.document import page
from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report


@rendering("html", suffixes=(".html", ".htm"))
def html(report: Report) -> str:
    """One self-contained page to open in a browser, keep, or attach to a ticket."""
    return page(report)
