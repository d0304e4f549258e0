"""A device by name, taken from a tensor instead."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.core.types import Safety
from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, given


@codemod("stay-on-device", cures=("CAP004", "INP112"), safety=Safety.UNSAFE)
def stay_on_device(page: Page) -> Iterator[Change]:
    """A device that is written into forward may not be there; that of the input always is."""
    for node in page.each(cst.Call):
        name = _parameter(page, node)
        if not name or not isinstance(node.func, cst.Attribute):
            continue
        values, keywords = given(node)
        if node.func.attr.value == "cuda" and page.name(node.func) != "torch.cuda":
            yield node, page.expression(f"{{}}.to({name}.device)", node.func.value)
        for each in (*values[: node.func.attr.value == "to"], keywords.get("device")):
            if each is not None and _is_named(page, each):
                yield each, page.expression(f"{name}.device")


def _is_named(page: Page, node: cst.BaseExpression) -> bool:
    """`"cuda"`, `"cuda:0"` or torch.device of such."""
    if isinstance(node, cst.Call) and page.name(node.func) == "torch.device" and node.args:
        node = node.args[0].value
    return isinstance(node, cst.SimpleString) and str(node.raw_value).startswith("cuda")


def _parameter(page: Page, node: cst.CSTNode) -> str:
    """The first that was a tensor, or, of a function that never ran so far, the first."""
    loads = below(page.function(node) or node, cst.Name)
    tensors = {each.value for each in loads if page.is_tensor(each)}
    names = page.parameters(node)
    return next((name for name in names if name in tensors), names[0] if names else "")
