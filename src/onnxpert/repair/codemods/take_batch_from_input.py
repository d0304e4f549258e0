"""The example's batch size, written as a number, read from the tensor instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_METHODS = ("view", "reshape", "expand", "repeat")
_MAKERS = ("torch.zeros", "torch.ones", "torch.full", "torch.arange", "torch.randn", "torch.empty")


@codemod("take-batch-from-input", cures=("SHP201", "SHP202", "SHP205", "NUM701", "SHP203"))
def take_batch_from_input(page: Page) -> Iterator[Edit]:
    """A batch size that is written as a number only fits the example."""
    for node, value in page.methods(*_METHODS):
        first = _first(node)
        firsts = {each.shape[:1] for each in page.values(value)}
        if page.is_tensor(value) and first is not None and firsts == {(first.value,)}:
            name = value.id if isinstance(value, ast.Name) else _sized(page, node, first)
            if name:
                yield page.edit(first, f"{name}.shape[0]")
    for node in page.calls(*_MAKERS):
        first = _first(node)
        name = _sized(page, node, first) if first is not None and first.value != 1 else ""
        if first is not None and name:
            yield page.edit(first, f"{name}.shape[0]")


def _sized(page: Page, node: ast.Call, first: ast.Constant) -> str:
    """The tensor parameter whose first size is that number, "" if none is."""
    name = page.tensor_parameter(node)
    loads = [n for n in ast.walk(page.tree) if isinstance(n, ast.Name) and n.id == name]
    sizes = {each.shape[:1] for load in loads for each in page.values(load) if each.is_input}
    return name if sizes == {(first.value,)} else ""


def _first(node: ast.Call) -> ast.Constant | None:
    first = node.args[0] if node.args else None
    if isinstance(first, (ast.Tuple, ast.List)):
        first = first.elts[0] if first.elts else None
    return first if isinstance(first, ast.Constant) and type(first.value) is int else None
