"""Writes where a mask is true, said with torch.where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below


@codemod("write-with-where", cures=("CTL401", "CTL406", "STA304"))
def write_with_where(page: Page) -> Iterator[Change]:
    """A write into the places of a mask is a new tensor, which a branch can choose or leave."""
    for node in page.each(cst.Assign):
        if len(node.targets) == 1:
            yield from _chosen(page, node, node.targets[0].target, "{}")
    for change in page.each(cst.AugAssign):
        sign = page.code(change.operator).strip().removesuffix("=")
        yield from _chosen(page, change, change.target, f"{page.code(change.target)} {sign} {{}}")


def _chosen(page: Page, node: Any, target: cst.CSTNode, value: str) -> Iterator[Change]:
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
        return
    mask = target.slice[0].slice if len(target.slice) == 1 else None
    if not isinstance(mask, cst.Index) or not _is_mask(page, mask.value):
        return
    # torch.where reads the same places of both: `x` for `x[mask]`
    said = page.code(page.expression(value, node.value))
    whole = page.expression(said.replace(f"[{page.code(mask.value)}]", ""))
    ranks = [{len(seen.shape) for seen in page.values(each)} for each in (target.value, mask.value)]
    axes = ", None" * (max(ranks[0]) - max(ranks[1])) if all(ranks) else ""
    test = page.expression(f"{{}}[...{axes}]", mask.value) if axes else mask.value
    yield node, page.where(target.value, test, whole).body[0]


def _is_mask(page: Page, node: cst.BaseExpression) -> bool:
    """Whether it was a tensor of truth values, there or, by name, anywhere in the function."""
    seen = page.values(node)
    if isinstance(node, cst.Name) and not seen:
        names = below(page.function(node) or node, cst.Name)
        seen = [each for name in names if name.value == node.value for each in page.values(name)]
    if not seen and isinstance(node, cst.UnaryOperation):
        return _is_mask(page, node.expression)
    return bool(seen) and all(each.dtype == "bool" and each.shape for each in seen)
