"""Whether a mask chose anything, asked of the mask and not of what it chose."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.nothing import Nothing
from onnxpert.repair.source.page import Page, below, given, small
from onnxpert.repair.source.state import firsts
from onnxpert.repair.source.uses import bound, read_after, reads_first

_SIZES = ("{}.numel()", "len({})", "{}.shape[0]", "{}.size(0)", "{}.size()[0]")
_COUNTS = ("{}.sum()", "{}.count_nonzero()", "{}.int().sum()", "{}.long().sum()", "torch.sum({})")
# What is asked of a size -> whether it is that there is something.
_ASKED = {"> 0": True, "!= 0": True, ">= 1": True, "== 0": False, "< 1": False}


@codemod("ask-the-mask", cures=("CTL401", "CTL406", "CTL409", "SHP213"))
def ask_the_mask(page: Page) -> Iterator[Change]:
    """How many a mask chooses is no number at the time of a trace; whether it chooses any is a tensor."""
    for branch in page.each(cst.If):
        asked = _of_the_chosen(page, branch.test)
        nothing = asked or _of_the_mask(page, branch.test)
        needless = _needless(page, branch, *nothing) if nothing is not None else None
        if needless is not None:
            yield branch, needless or None
        elif asked is not None:
            yield branch.test, _any(page, *asked)
    for choice in page.each(cst.IfExp):
        asked = _of_the_chosen(page, choice.test)
        if asked is not None:
            yield choice.test, _any(page, *asked)


def _any(page: Page, nothing: Nothing, some: bool) -> cst.BaseExpression:
    return page.expression("{}.any()" if some else "~{}.any()", nothing.mask)


def _needless(
    page: Page, branch: cst.If, nothing: Nothing, some: bool
) -> list[cst.BaseStatement] | None:
    """What stands in the place of an `if` that only keeps from doing nothing; None: it does more."""
    block = page.parent(branch)
    if branch.orelse is not None or not isinstance(block, cst.IndentedBlock):
        return None
    if some:
        body = branch.body.body if isinstance(branch.body, cst.IndentedBlock) else []
        seen = [name for name in bound(branch.body) if read_after(page, branch, name)]
        return [*body] if body and nothing.is_left(body, seen) else None
    loop = page.parent(block)
    skips = [type(each) for each in small(branch.body)] == [cst.Continue]
    if not skips or not isinstance(loop, (cst.For, cst.While)):
        return None
    rest = block.body[block.body.index(branch) + 1 :]
    seen = [
        name
        for name in bound(loop.body)
        if read_after(page, loop, name) or reads_first(small(loop.body), name)
    ]
    return [] if nothing.is_left(rest, seen) else None


def _of_the_mask(page: Page, test: cst.BaseExpression) -> tuple[Nothing, bool] | None:
    """The mask of which a test asks whether it is true anywhere, and whether that is what it asks."""
    said = page.code(test).replace(".item()", "")
    for mask in below(test, cst.Name):
        if {each.dtype for each in page.values(mask)} != {"bool"}:
            continue
        whole = f"{mask.value}.any()"
        answer = {whole: True, f"not {whole}": False, f"~{whole}": False}.get(said)
        for count in (each.format(mask.value) for each in _COUNTS):
            if said.startswith(f"{count} "):
                answer = _ASKED.get(said.removeprefix(count).strip())
        if answer is not None:
            return Nothing(page, mask), answer
    return None


def _of_the_chosen(page: Page, test: cst.BaseExpression) -> tuple[Nothing, bool] | None:
    """The mask, and whether what it chose is asked for something rather than for nothing."""
    said = page.code(test)
    for name in below(test, cst.Name):
        for size in _SIZES:
            whole = size.format(name.value)
            answer = {whole: True, f"not {whole}": False}.get(said)
            if said.startswith(whole + " "):
                answer = _ASKED.get(said.removeprefix(whole).strip())
            mask = _mask(page, test, name.value) if answer is not None else None
            if mask is not None and answer is not None:
                return Nothing(page, mask, name.value), answer
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
        call = _bare(page, made)
        values = given(call)[0] if isinstance(call, cst.Call) else []
        if isinstance(call, cst.Call) and page.name(call.func) in _PLACES and len(values) == 1:
            return values[0]
        if isinstance(call, cst.Call) and m.matches(call.func, m.Attribute(attr=m.Name("nonzero"))):
            return cst.ensure_type(call.func, cst.Attribute).value
    return None


def _bare(page: Page, node: cst.BaseExpression) -> cst.BaseExpression:
    """Without what gives as many places in another form."""
    if isinstance(node, cst.Subscript) and page.code(node).endswith(_ONE_AXIS):
        return _bare(page, node.value)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return _bare(page, node.func.value) if node.func.attr.value in _SHAPED else node
    return node


_ONE = m.SubscriptElement(m.Index())
_PLACES = ("torch.where", "torch.nonzero")
_ONE_AXIS = ("[0]", "[:, 0]", "[:, 1]", "[:, -1]")
_SHAPED = ("squeeze", "flatten", "view", "reshape", "long", "clone", "detach")
