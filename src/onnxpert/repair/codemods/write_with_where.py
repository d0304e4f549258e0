"""Writes where a mask is true, said with torch.where."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below


@codemod("write-with-where", cures=("CTL401", "CTL406", "STA304"))
def write_with_where(page: Page) -> Iterator[Change]:
    """A write into the places of a mask is a new tensor, which a branch can choose or leave."""
    for node in page.each(cst.BaseSmallStatement):  # type: ignore[type-abstract]
        target, value = page.assigned(node)
        if isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            yield from _chosen(page, node, target, target.value, value)


def _chosen(
    page: Page, node: cst.CSTNode, target: cst.Subscript, base: cst.Name, value: cst.BaseExpression
) -> Iterator[Change]:
    mask = target.slice[0].slice if len(target.slice) == 1 else None
    if not isinstance(mask, cst.Index) or not _is_mask(page, mask.value):
        return
    # torch.where reads the same places of both: `x` for `x[mask]`
    whole = page.expression(page.code(value).replace(f"[{page.code(mask.value)}]", ""))
    ranks = [{len(seen.shape) for seen in page.values(each)} for each in (base, mask.value)]
    axes = ", None" * (max(ranks[0]) - max(ranks[1])) if all(ranks) else ""
    test = page.expression(f"{{}}[...{axes}]", mask.value) if axes else mask.value
    yield node, page.where(base, test, whole).body[0]


def _is_mask(page: Page, node: cst.BaseExpression) -> bool:
    """Whether it was a tensor of truth values, there or, by name, anywhere in the function."""
    seen = page.values(node)
    if isinstance(node, cst.Name) and not seen:
        names = below(page.function(node) or node, cst.Name)
        seen = [each for name in names if name.value == node.value for each in page.values(name)]
    if not seen and isinstance(node, cst.UnaryOperation):
        return _is_mask(page, node.expression)
    return bool(seen) and all(each.dtype == "bool" and each.shape for each in seen)
