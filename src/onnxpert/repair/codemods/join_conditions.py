"""`and`, `or` and `not` between tensors, and comparisons in a chain, as tensor operations."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page
from onnxpert.repair.source.watching import Kind


@codemod("join-conditions", cures=("CTL401", "CTL406", "CTL409"))
def join_conditions(page: Page) -> Iterator[Change]:
    """Python's `and` asks for a truth value; torch.logical_and gives a tensor."""
    for node in page.each(cst.BooleanOperation):
        name, sign = ("and", "&") if isinstance(node.operator, cst.And) else ("or", "|")
        left, right = node.left, node.right
        if page.is_tensor(left) and (page.is_tensor(right) or not page.values(right)):
            yield node, page.expression(f"torch.logical_{name}({{}}, {{}})", left, right)
        elif page.is_tensor(left) and page.was(right, Kind.BOOL):
            yield node, page.expression(f"{{}} {sign} {{}}", left, right)
        elif page.is_tensor(right) and page.was(left, Kind.BOOL):
            yield node, page.expression(f"{{}} {sign} {{}}", right, left)
    for negated in page.each(cst.UnaryOperation):
        if isinstance(negated.operator, cst.Not) and page.is_tensor(negated.expression):
            yield negated, page.expression("torch.logical_not({})", negated.expression)
    for chain in page.each(cst.Comparison):
        if len(chain.comparisons) == 2 and page.is_tensor(chain):
            first, second = chain.comparisons
            left = chain.with_changes(comparisons=[first], lpar=[], rpar=[])
            right = chain.with_changes(
                left=first.comparator, comparisons=[second], lpar=[], rpar=[]
            )
            yield chain, page.expression("torch.logical_and({}, {})", left, right)
