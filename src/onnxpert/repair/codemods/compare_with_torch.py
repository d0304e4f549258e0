"""`max`, `min` and `round` of Python's on tensors, as torch's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_PAIRS = {"max": "torch.maximum", "min": "torch.minimum"}


@codemod("compare-with-torch", cures=("CTL401", "CTL405", "CTL406", "CTL409"))
def compare_with_torch(page: Page) -> Iterator[Edit]:
    """Python's max and min ask a tensor which is larger; torch.maximum keeps that in the graph."""
    for node in page.calls("max", "min"):
        assert isinstance(node.func, ast.Name)
        if len(node.args) != 2 or node.keywords:
            continue
        tensors = [page.is_tensor(each) for each in node.args]
        if all(tensors):
            yield page.edit(node.func, _PAIRS[node.func.id])
        elif any(tensors):
            value, bound = sorted(node.args, key=lambda each: not page.is_tensor(each))
            side = "min" if node.func.id == "max" else "max"
            yield page.edit(node, f"{page.operand(value)}.clamp({side}={page.code(bound)})")
