"""`.data` of a tensor as `.detach()`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page


@codemod("detach-instead-of-data", cures=("CAP001", "CTL402", "STA301"))
def detach_instead_of_data(page: Page) -> Iterator[Change]:
    """`.data` goes behind torch's back, and behind every tracer's; `.detach()` is the same value."""
    for node in page.each(cst.Attribute):
        if node.attr.value == "data" and page.is_tensor(node):  # noted where it is read
            yield node, page.expression("{}.detach()", node.value)
