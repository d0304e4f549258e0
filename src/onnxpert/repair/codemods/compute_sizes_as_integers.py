"""Sizes through `len`, `int`, division of floats, `math` and numpy, as plain integer arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, dotted, given
from onnxpert.repair.source.watching import Kind

_DOWN = ("int", "math.floor", "math.trunc", "numpy.floor")
_UP = ("math.ceil", "numpy.ceil")


@codemod("compute-sizes-as-integers", cures=("SHP201", "SHP202", "SHP203", "SHP205", "CTL405"))
def compute_sizes_as_integers(page: Page) -> Iterator[Change]:
    """Sizes stay symbols in shapes and integer arithmetic; len(), int(), floats and numpy end that."""
    for node in page.calls("len"):
        if page.is_tensor(node.args[0].value):
            yield node, page.expression("{}.shape[0]", node.args[0].value)
    for node in page.calls(*_DOWN, *_UP):
        values, keywords = given(node)
        if len(values) != 1 or keywords:
            continue
        if page.was(values[0], Kind.INT):
            yield node, values[0]
        elif (quotient := _quotient(page, values[0])) is not None:
            whole, parts = quotient
            if page.name(node.func) in _UP:
                whole = _with_the_rest(page, whole, parts)
            yield node, page.expression("{} // {}", whole, parts)
    for node in page.calls("map"):
        values, _ = given(node)
        if len(values) == 2 and dotted(values[0]) == "int":
            yield node, values[1]
    for node in page.calls("numpy.prod", "math.prod", "numpy.product"):
        values, keywords = given(node)
        if len(values) == 1 and not keywords and ".shape" in page.code(values[0]):
            yield node, page.expression("{}.numel()", values[0])


def _with_the_rest(
    page: Page, whole: cst.BaseExpression, parts: cst.BaseExpression
) -> cst.BaseExpression:
    """What, divided and rounded down, is the quotient rounded up.

    Not `-(-whole // parts)`: a division of integers in a file goes towards zero, and torch leaves it so."""
    code = page.code(parts)
    if code.isdecimal():
        return page.expression(f"{{}} + {int(code) - 1}", whole)
    return page.expression("{} + {} - 1", whole, parts)


def _quotient(
    page: Page, node: cst.BaseExpression
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Both sides of a division of integers; a half of a size is one too."""
    if not isinstance(node, cst.BinaryOperation) or not page.was(node.left, Kind.INT):
        return None
    whole = isinstance(node.right, cst.Integer) or page.was(node.right, Kind.INT)
    if isinstance(node.operator, cst.Divide) and whole:
        return node.left, node.right
    if isinstance(node.operator, cst.Multiply) and isinstance(node.right, cst.Float):
        parts = 1 / float(node.right.value) if float(node.right.value) else 0.5
        return (node.left, cst.Integer(str(int(parts)))) if parts in (2, 4, 8) else None
    return None
