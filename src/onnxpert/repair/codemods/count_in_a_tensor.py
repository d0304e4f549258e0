"""A list of numbers whose places tensors say, as a tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, elements

_DTYPES: dict[type[cst.CSTNode], str] = {cst.Integer: "torch.int64", cst.Float: "torch.float32"}


@codemod("count-in-a-tensor", cures=("CTL401", "CTL402", "CTL405", "CTL406", "CTL411"))
def count_in_a_tensor(page: Page) -> Iterator[Change]:
    """A tensor cannot say a place in a list without leaving the graph; in a tensor it can."""
    for made in page.each(cst.Assign):
        target, value = made.targets[0].target, made.value
        if not isinstance(target, cst.Name) or not isinstance(value, cst.BinaryOperation):
            continue
        first = elements(value.left)
        if len(first) != 1 or not isinstance(value.operator, cst.Multiply):
            continue
        dtype = _DTYPES.get(type(first[0]))
        if dtype and any(_is_counted(page, each, target.value) for each in _places(page, made)):
            said = f"torch.full(({{}},), {{}}, dtype={dtype})"
            yield value, page.expression(said, value.right, first[0])


def _places(page: Page, node: cst.CSTNode) -> Iterator[cst.Subscript]:
    return below(page.function(node) or node, cst.Subscript)


def _is_counted(page: Page, node: cst.Subscript, name: str) -> bool:
    """Whether a tensor says a place of that list."""
    place = node.slice[0].slice if len(node.slice) == 1 else None
    named = isinstance(node.value, cst.Name) and node.value.value == name
    return named and isinstance(place, cst.Index) and page.is_tensor(place.value)
