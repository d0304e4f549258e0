"""`and`, `or` and `not` between tensors, as tensor operations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@codemod("join-conditions", cures=("CTL401", "CTL406", "CTL409"))
def join_conditions(page: Page) -> Iterator[Edit]:
    """Python's `and` asks for a truth value; torch.logical_and gives a tensor."""
    for node in ast.walk(page.tree):
        if not page.function(node):
            continue
        if isinstance(node, ast.BoolOp) and page.is_tensor(node.values[0]):
            name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
            joined = page.code(node.values[0])
            for value in node.values[1:]:
                joined = f"torch.{name}({joined}, {page.code(value)})"
            yield page.edit(node, joined)
        elif (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.Not)
            and page.is_tensor(node.operand)
        ):
            yield page.edit(node, f"torch.logical_not({page.code(node.operand)})")
