"""`.item()`, `float()` and `int()` of tensors left out: the tensor is a number as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_CASTS = {"int": "int64", "bool": "bool"}


@codemod("keep-as-tensor", cures=("CTL402", "CTL405", "CTL401", "INP123"))
def keep_as_tensor(page: Page) -> Iterator[Edit]:
    """A tensor of one element computes like the number in it, without leaving the graph."""
    for node, value in page.methods("item"):
        if page.is_tensor(value) and not node.args:
            yield page.edit(node, _scalar(page, value))
    for node in page.calls("float", "int", "bool"):
        if len(node.args) != 1 or not page.is_tensor(node.args[0]):
            continue
        assert isinstance(node.func, ast.Name)
        value = node.args[0]
        dtype = _CASTS.get(node.func.id)
        seen = {each.dtype for each in page.values(value)}
        if dtype is None and not all(name.startswith(("float", "bfloat")) for name in seen):
            dtype = "float32"
        cast = f".to(torch.{dtype})" if dtype else ""
        yield page.edit(node, _scalar(page, value) + cast)


def _scalar(page: Page, value: ast.expr) -> str:
    flat = all(each.shape == () for each in page.values(value))
    return page.operand(value) + ("" if flat else ".reshape(())")
