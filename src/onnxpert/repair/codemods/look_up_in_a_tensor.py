"""Entries of a list of numbers that a tensor names, taken of a tensor of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below
from onnxpert.repair.source.watching import Kind


@codemod("look-up-in-a-tensor", cures=("CTL401", "CTL402", "CTL405", "CTL411"))
def look_up_in_a_tensor(page: Page) -> Iterator[Change]:
    """A list wants a number of Python's to say a place in it; a tensor of the same numbers does not."""
    for node in page.each(cst.Subscript):
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(index, cst.Index) and _is_place(page, index.value):
            lengths = {each.shape[0] for each in page.values(node.value) if each.shape}
            if page.was(node.value, Kind.NUMBERS) and len(lengths) == 1:
                yield node, _looked_up(page, node, index.value, lengths.pop())


def _is_place(page: Page, node: cst.CSTNode) -> bool:
    return page.is_tensor(node) and all(
        each.dtype.startswith("int") and not each.shape for each in page.values(node)
    )


def _looked_up(
    page: Page, node: cst.Subscript, place: cst.BaseExpression, many: int
) -> cst.BaseExpression:
    """Where there are branches, on the side that is not taken too: there a place may be none."""
    function = page.function(node) or node
    branches: tuple[type[cst.CSTNode], ...] = (cst.If, cst.IfExp)
    sides = any(next(below(function, kind), None) is not None for kind in branches)
    if sides or "torch.where(" in page.code(function):
        place = page.expression(f"{{}}.clamp({-many}, {many - 1})", place)
    return page.expression("torch.tensor({})[{}]", node.value, place)
