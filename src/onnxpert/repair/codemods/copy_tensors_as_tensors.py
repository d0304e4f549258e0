"""`torch.tensor(t)` of a tensor, or of numbers taken out of tensors, as tensor operations."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, elements, given
from onnxpert.repair.source.watching import Kind


@codemod("copy-tensors-as-tensors", cures=("CTL402", "CTL405", "INP122", "INP123", "CAP001"))
def copy_tensors_as_tensors(page: Page) -> Iterator[Change]:
    """`torch.tensor` takes the values out and makes a constant of them; a clone follows its tensor."""
    for node in page.calls("torch.tensor", "torch.as_tensor"):
        values, keywords = given(node)
        if len(values) != 1 or keywords.keys() - {"dtype", "device"}:
            continue
        cast = "".join(f".to({page.code(each)})" for each in keywords.values())
        parts = [_inner(each) for each in elements(values[0])]
        if page.is_tensor(values[0]):
            yield node, page.expression(f"{{}}.detach().clone(){cast}", values[0])
        elif parts and all(map(page.is_tensor, parts)):
            holes = ", ".join(["{}.reshape(())"] * len(parts))
            yield node, page.expression(f"torch.stack([{holes}]){cast}", *parts)
        elif page.was(values[0], Kind.TENSORS):
            yield node, page.expression(f"{_stacked(page, values[0])}{cast}")


def _stacked(page: Page, node: cst.BaseExpression) -> str:
    """Of a list of tensors, or of lists of them."""
    if page.values(node)[0].depth < 2:
        return f"torch.stack({page.code(node)})"
    if isinstance(node, cst.ListComp):
        rows = node.with_changes(elt=page.expression("torch.stack({})", node.elt))
        return f"torch.stack({page.code(rows)})"
    return f"torch.stack([torch.stack(each) for each in {page.code(node)}])"


def _inner(node: cst.BaseExpression) -> cst.BaseExpression:
    """`t` of `t.item()`."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not node.args:
        return node.func.value if node.func.attr.value == "item" else node
    return node
