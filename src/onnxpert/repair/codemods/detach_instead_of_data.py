"""`.data` of a tensor as `.detach()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@codemod("detach-instead-of-data", cures=("CAP001", "CTL402", "STA301"))
def detach_instead_of_data(page: Page) -> Iterator[Edit]:
    """`.data` goes behind torch's back, and behind every tracer's; `.detach()` is the same value."""
    for node in ast.walk(page.tree):
        if not isinstance(node, ast.Attribute) or node.attr != "data":
            continue
        if isinstance(node.ctx, ast.Load) and page.is_tensor(node):
            yield page.edit(node, f"{page.operand(node.value)}.detach()")
