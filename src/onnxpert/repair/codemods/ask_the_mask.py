"""Whether a mask chose anything, asked of the mask and not of what it chose."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, given, small
from onnxpert.repair.source.state import firsts

_SIZES = ("{}.numel()", "len({})", "{}.shape[0]", "{}.size(0)", "{}.size()[0]")
# What is asked of a size -> whether it is that there is something.
_ASKED = {"> 0": True, "!= 0": True, ">= 1": True, "== 0": False, "< 1": False}


@codemod("ask-the-mask", cures=("CTL401", "CTL406", "CTL409", "SHP213"))
def ask_the_mask(page: Page) -> Iterator[Change]:
    """How many a mask chooses is no number at the time of a trace; whether it chooses any is a tensor."""
    for branch in page.each(cst.If):
        asked = _asked(page, branch.test)
        if asked is None:
            continue
        mask, some = asked
        skips = [type(each) for each in small(branch.body)] == [cst.Continue]
        if skips and not some and branch.orelse is None:
            yield branch, None  # what comes after it does nothing to no rows
        else:
            yield branch.test, page.expression("{}.any()" if some else "~{}.any()", mask)
    for choice in page.each(cst.IfExp):
        asked = _asked(page, choice.test)
        if asked is not None:
            mask, some = asked
            yield choice.test, page.expression("{}.any()" if some else "~{}.any()", mask)


def _asked(page: Page, test: cst.BaseExpression) -> tuple[cst.BaseExpression, bool] | None:
    """The mask, and whether it is asked for something rather than for nothing."""
    said = page.code(test)
    for name in below(test, cst.Name):
        for size in _SIZES:
            whole = size.format(name.value)
            answer = {whole: True, f"not {whole}": False}.get(said)
            if said.startswith(whole + " "):
                answer = _ASKED.get(said.removeprefix(whole).strip())
            mask = _mask(page, test, name.value) if answer is not None else None
            if mask is not None and answer is not None:
                return mask, answer
    return None


def _mask(page: Page, test: cst.CSTNode, name: str) -> cst.BaseExpression | None:
    """That of which a name holds the chosen rows, or their places."""
    statement = test
    while not isinstance(statement, cst.BaseStatement):
        statement = page.parent(statement) or page.tree
    for made in firsts(page, statement, name)[:1]:
        if isinstance(made, cst.Subscript) and m.matches(made, m.Subscript(slice=[_ONE])):
            inside = cst.ensure_type(made.slice[0].slice, cst.Index).value
            if {each.dtype for each in page.values(inside)} == {"bool"}:
                return inside
        for call in below(made, cst.Call):
            values, _ = given(call)
            if page.name(call.func) in ("torch.where", "torch.nonzero") and len(values) == 1:
                return values[0]
            if isinstance(call.func, cst.Attribute) and call.func.attr.value == "nonzero":
                return call.func.value
    return None


_ONE = m.SubscriptElement(m.Index())
