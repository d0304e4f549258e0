"""A device by name, taken from a tensor instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.core.types import Safety
from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page, dotted


@codemod("stay-on-device", cures=("CAP004", "INP112"), safety=Safety.UNSAFE)
def stay_on_device(page: Page) -> Iterator[Edit]:
    """A device that is written into forward may not be there; that of the input always is."""
    for node, value in page.methods("cuda"):
        name = _parameter(page, node)
        if name and not node.args and _in_forward(page, node):
            yield page.edit(node, f"{page.operand(value)}.to({name}.device)")
    for node, _ in page.methods("to"):
        name = _parameter(page, node)
        if name and node.args and _named(node.args[0]) and _in_forward(page, node):
            yield page.edit(node.args[0], f"{name}.device")
    for call in ast.walk(page.tree):
        if isinstance(call, ast.Call) and page.function(call) and _in_forward(page, call):
            name = _parameter(page, call)
            for each in call.keywords:
                if each.arg == "device" and name and _named(each.value):
                    yield page.edit(each.value, f"{name}.device")


def _named(node: ast.expr) -> bool:
    """`"cuda"`, `"cuda:0"` or torch.device of such."""
    if isinstance(node, ast.Call) and dotted(node.func) == "torch.device" and node.args:
        node = node.args[0]
    return isinstance(node, ast.Constant) and str(node.value).startswith("cuda")


def _parameter(page: Page, node: ast.AST) -> str:
    """A model that does not run tells nothing of its parameters: the first one has to do."""
    function = page.function(node)
    names = [each.arg for each in function.args.args if each.arg != "self"] if function else []
    return page.tensor_parameter(node) or (names[0] if names else "")


def _in_forward(page: Page, node: ast.AST) -> bool:
    function = page.function(node)
    return function is not None and function.name != "__init__"
