"""`torch.tensor(t)` of a tensor, or of numbers taken out of tensors, as tensor operations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@codemod("copy-tensors-as-tensors", cures=("CTL402", "CTL405", "INP122", "INP123", "CAP001"))
def copy_tensors_as_tensors(page: Page) -> Iterator[Edit]:
    """`torch.tensor` takes the values out and makes a constant of them; a clone follows its tensor."""
    for node in page.calls("torch.tensor", "torch.as_tensor"):
        if len(node.args) != 1 or any(each.arg != "dtype" for each in node.keywords):
            continue
        cast = "".join(f".to({page.code(each.value)})" for each in node.keywords)
        value = node.args[0]
        if page.is_tensor(value):
            yield page.edit(node, f"{page.operand(value)}.detach().clone(){cast}")
        elif (
            isinstance(value, (ast.List, ast.Tuple))
            and value.elts
            and all(page.is_tensor(_inner(each)) for each in value.elts)
        ):
            parts = (f"{page.operand(_inner(each))}.reshape(())" for each in value.elts)
            yield page.edit(node, f"torch.stack([{', '.join(parts)}]){cast}")


def _inner(node: ast.expr) -> ast.expr:
    """`t` of `t.item()`."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "item"
        and not node.args
    ):
        return node.func.value
    return node
