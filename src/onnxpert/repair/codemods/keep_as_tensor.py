"""`.item()`, `float()` and `int()` of tensors left out: the tensor is a number as it is."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page

_CASTS = {"int": ".to(torch.int64)", "bool": ".to(torch.bool)"}


@codemod("keep-as-tensor", cures=("CTL402", "CTL405", "CTL401", "INP123"))
def keep_as_tensor(page: Page) -> Iterator[Change]:
    """A tensor of one element computes like the number in it, without leaving the graph."""
    for node, value in page.methods("item"):
        if page.is_tensor(value) and not node.args:
            yield node, _scalar(page, value)
    for node in page.calls("float", "int", "bool"):
        value = node.args[0].value if node.args else node
        if not page.is_tensor(value):
            continue
        cast = _CASTS.get(page.name(node.func), "")
        seen = {each.dtype for each in page.values(value)}
        if not cast and not all(name.startswith(("float", "bfloat")) for name in seen):
            cast = ".to(torch.float32)"
        yield node, _scalar(page, value, cast)


def _scalar(page: Page, value: cst.BaseExpression, cast: str = "") -> cst.BaseExpression:
    flat = all(each.shape == () for each in page.values(value))
    return page.expression(("{}" if flat else "{}.reshape(())") + cast, value)
