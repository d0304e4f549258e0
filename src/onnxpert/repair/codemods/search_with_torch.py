"""What is asked of a list of tensors (how often, where, the largest), asked of one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst
import libcst.matchers as m

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given
from onnxpert.repair.source.watching import Kind

_METHODS = {"count": "({} == {}).sum()", "index": "({} == {}).int().argmax()"}
_FUNCTIONS = {
    "max": "{}.max()", "min": "{}.min()", "any": "{}.bool().any()", "all": "{}.bool().all()",
    "sorted": "{}.sort(stable=True).values",
}  # fmt: skip
# What is there most often; of several, what comes first, as a Counter has it.
_COMMONEST = "{}[({}[:, None] == {}).sum(1).argmax()]"
_FIRST = [m.SubscriptElement(m.Index(m.Integer("0")))]
_COUNTER = m.Call(
    m.SaveMatchedNode(m.Name() | m.Attribute(), "counter"),
    [m.Arg(m.SaveMatchedNode(m.DoNotCare(), "values"))],
)
_COUNTED = m.Subscript(
    m.Subscript(
        m.Call(m.Attribute(_COUNTER, m.Name("most_common")), [m.Arg(m.Integer("1"))]), _FIRST
    ),
    _FIRST,
)


# How many come before the place where a value belongs, NaN where Python puts it.
_PLACES = {
    "bisect.bisect": "(~({} > {})).sum()", "bisect.bisect_right": "(~({} > {})).sum()",
    "bisect.bisect_left": "({} < {}).sum()",
}  # fmt: skip


@codemod("search-with-torch", cures=("CTL401", "CTL402", "CTL405", "CTL406", "CTL409", "CTL410"))
def search_with_torch(page: Page) -> Iterator[Change]:
    """Python compares the tensors of a list one by one, each a branch; torch compares them at once."""
    for node, listed in page.methods(*_METHODS):
        sought = node.args[0].value if len(node.args) == 1 else None
        if sought is not None and (whole := _whole(page, listed, sought)) is not None:
            template = _METHODS[cst.ensure_type(node.func, cst.Attribute).attr.value]
            yield node, page.expression(template, whole, sought)
    for node in page.calls(*_FUNCTIONS):
        values, words = given(node)
        if len(values) == 1 and not words and _is_list(page, values[0]):
            yield node, page.expression(_FUNCTIONS[page.name(node.func)], _stack(page, values[0]))
    for node in page.calls(*_PLACES):
        values, words = given(node)
        whole = _whole(page, values[0], values[1]) if len(values) == 2 and not words else None
        if whole is not None:
            yield node, page.expression(_PLACES[page.name(node.func)], whole, values[1])
    for commonest, held in _commonest(page):
        if (whole := _whole(page, held)) is not None:
            yield commonest, page.expression(_COMMONEST, whole, whole, whole)
    for asked in page.each(cst.Comparison):
        within = [type(each.operator) for each in asked.comparisons] == [cst.In]
        held = asked.comparisons[0].comparator
        whole = _whole(page, held, asked.left) if within else None
        if whole is not None:
            yield asked, page.expression("({} == {}).any()", whole, asked.left)


def _commonest(page: Page) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Where the value is asked for that is there most often, the first of several; with the values."""
    for node in page.calls("statistics.mode"):
        yield node, node.args[0].value
    for asked in page.each(cst.Subscript):
        found: Any = m.extract(asked, _COUNTED)
        if found and page.name(found["counter"]) == "collections.Counter":
            yield asked, found["values"]


def _whole(
    page: Page, node: cst.BaseExpression, sought: cst.BaseExpression | None = None
) -> cst.BaseExpression | None:
    """One tensor of what is a tensor or a list of them, None for anything else.

    Also of a list of numbers, where it is a tensor that is sought in it."""
    if page.is_tensor(node):
        return node
    if sought is not None and page.is_tensor(sought) and page.was(node, Kind.NUMBERS):
        return page.expression("torch.tensor({})", node)
    return _stack(page, node) if _is_list(page, node) else None


def _is_list(page: Page, node: cst.CSTNode) -> bool:
    """Of tensors that are one value each, as far as anybody can see."""
    return page.was(node, Kind.TENSORS) and {each.depth for each in page.values(node)} == {1}


def _stack(page: Page, listed: cst.BaseExpression) -> cst.BaseExpression:
    return page.expression("torch.stack({})", listed)
