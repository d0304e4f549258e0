"""Sizes through `int()`, `float` division, `math` and numpy, as plain integer arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page, dotted
from onnxpert.repair.source.watching import Kind


@codemod("compute-sizes-as-integers", cures=("SHP201", "SHP202", "SHP203", "SHP205", "CTL405"))
def compute_sizes_as_integers(page: Page) -> Iterator[Edit]:
    """Sizes stay symbols through integer arithmetic; int(), float division and numpy end that."""
    for node in page.calls("int", "math.floor", "math.ceil", "np.floor", "np.ceil", "numpy.floor"):
        if len(node.args) != 1:
            continue
        value = node.args[0]
        if page.was(value, Kind.INT) and dotted(node.func) == "int":
            yield page.edit(node, page.operand(value))
        elif (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Div)
            and page.was(value.left, Kind.INT)
            and _integer(page, value.right)
        ):
            left, right = page.operand(value.left), page.operand(value.right)
            up = dotted(node.func).endswith("ceil")
            whole = f"(-(-{left} // {right}))" if up else f"({left} // {right})"
            inside = isinstance(page.parent(node), (ast.Assign, ast.Call, ast.Tuple))
            yield page.edit(node, whole[1:-1] if inside else whole)
    for node in page.calls("np.prod", "numpy.prod"):
        if len(node.args) == 1 and not node.keywords and ".shape" in page.code(node.args[0]):
            yield page.edit(node, _product(page, node.args[0]))


def _integer(page: Page, node: ast.expr) -> bool:
    constant = isinstance(node, ast.Constant) and type(node.value) is int
    return constant or page.was(node, Kind.INT)


def _product(page: Page, sizes: ast.expr) -> str:
    return f"{page.operand(sizes)}.numel()"
