"""Sizes through `int()`, `float` division, `math` and numpy, as plain integer arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, dotted, elements, given
from onnxpert.repair.source.watching import Kind

_DOWN = ("int", "math.floor", "math.trunc", "numpy.floor")
_UP = ("math.ceil", "numpy.ceil")


@codemod("compute-sizes-as-integers", cures=("SHP201", "SHP202", "SHP203", "SHP205", "CTL405"))
def compute_sizes_as_integers(page: Page) -> Iterator[Change]:
    """Sizes stay symbols through integer arithmetic; int(), float division and numpy end that."""
    for node in page.calls(*_DOWN, *_UP):
        (value, *more), keywords = given(node)
        if more or keywords:
            continue
        if page.was(value, Kind.INT):
            yield node, value
        elif (quotient := _quotient(page, value)) is not None:
            up = page.name(node.func) in _UP
            yield node, page.expression("-(-{} // {})" if up else "{} // {}", *quotient)
    for node in page.calls("map"):
        values, _ = given(node)
        if len(values) == 2 and dotted(values[0]) == "int" and _sizes(page, values[1]):
            yield node, values[1]
    for node in page.calls("numpy.prod", "math.prod", "numpy.product"):
        values, keywords = given(node)
        if len(values) == 1 and not keywords and ".shape" in page.code(values[0]):
            yield node, page.expression("{}.numel()", values[0])


def _quotient(
    page: Page, node: cst.BaseExpression
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Both sides of a division of integers; a half of a size is one too."""
    if not isinstance(node, cst.BinaryOperation) or not page.was(node.left, Kind.INT):
        return None
    if isinstance(node.operator, cst.Divide) and _whole(page, node.right):
        return node.left, node.right
    if isinstance(node.operator, cst.Multiply) and isinstance(node.right, cst.Float):
        parts = 1 / float(node.right.value) if float(node.right.value) else 0.5
        return (node.left, cst.Integer(str(int(parts)))) if parts in (2, 4, 8) else None
    return None


def _whole(page: Page, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) or page.was(node, Kind.INT)


def _sizes(page: Page, node: cst.BaseExpression) -> bool:
    if page.code(node).endswith((".shape", ".size()")):
        return True
    return bool(elements(node)) and all(_whole(page, each) for each in elements(node))
