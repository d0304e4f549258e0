"""Rows that are repeated as often as a tensor says, one after the other, repeated all at once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.folding import appended
from onnxpert.repair.source.page import Page, below, given, names_in, small
from onnxpert.repair.source.uses import bound

_KEPT = {"expand": "-1", "repeat": "1"}  # what a method is told of the axes that stay
_WHOLE = "torch.repeat_interleave(torch.stack({}), torch.tensor({}), dim=0)"


@codemod("repeat-with-a-tensor", cures=("SHP201", "SHP211", "CTL402", "CTL403", "CTL405", "CTL411"))
def repeat_with_a_tensor(page: Page) -> Iterator[Change]:
    """How often a row is repeated is no number in a trace; torch repeats all rows by one tensor."""
    for call in page.calls("torch.cat", "torch.concat"):
        values, words = given(call)
        axes = [*values[1:], *words.values()]
        if not values or len(axes) > 1 or any(page.code(each) != "0" for each in axes):
            continue
        rows = values[0]
        if isinstance(rows, cst.ListComp) and (found := _repeated(page, rows.elt, rows.for_in)):
            both = (page.code(rows.with_changes(elt=each)) for each in found)
            yield call, page.expression(_WHOLE, *both)
        elif isinstance(rows, cst.Name):
            yield from _collected(page, call, rows.value)


def _collected(page: Page, call: cst.Call, rows: str) -> Iterator[Change]:
    """The list is filled in a loop, by one line of it, and read nowhere else."""
    function = page.function(call) or call
    uses = [each for each in below(function, cst.Name) if each.value == rows]
    loops = [each for each in below(function, cst.For) if isinstance(each.body, cst.IndentedBlock)]
    for loop in loops:
        for line in loop.body.body:
            (one, *more) = small(line)
            added = one.value if isinstance(one, cst.Expr) and appended(one) == rows else None
            if more or not isinstance(added, cst.Call) or len(uses) != 3:  # made, filled, joined
                continue
            if found := _repeated(page, given(added)[0][0], loop):
                times = page.fresh(loop, f"{rows}_times")
                lines = [page.statement(f"{rows}.append({{}})", found[0])]
                lines += [page.statement(f"{times}.append({{}})", found[1])]
                yield loop, [page.statement(f"{times} = []"), _with(loop, line, lines)]
                yield call, page.expression(_WHOLE, rows, times)


def _with(loop: cst.For, old: cst.CSTNode, new: list[cst.SimpleStatementLine]) -> cst.For:
    lines = [each for line in loop.body.body for each in (new if line is old else [line])]
    return loop.with_changes(body=loop.body.with_changes(body=lines), leading_lines=[])


def _repeated(
    page: Page, node: cst.BaseExpression, loop: cst.For | cst.CompFor
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """One row, and how often: of `row.expand(many, -1)` and its kin, where each turn has its number."""
    func = node.func if isinstance(node, cst.Call) else None
    if not isinstance(node, cst.Call) or not isinstance(func, cst.Attribute):
        return None
    (values, words), kept = given(node), _KEPT.get(func.attr.value)
    if not values or words or any(page.code(each) != kept for each in values[1:]):
        return None
    row, many = func.value, values[0]
    own = {*names_in(loop.target), *(bound(loop.body) if isinstance(loop, cst.For) else ())}
    ranks = {len(each.shape) for each in page.values(row)}
    if not names_in(many) & own or not page.is_number(many) or len(ranks) != 1:
        return None
    flat = ranks.pop() < len(values)  # else its first axis is repeated, and is one row
    return row if flat else _alone(page, row), many


def _alone(page: Page, rows: cst.BaseExpression) -> cst.BaseExpression:
    """The one row of a tensor, in few words: `x[i]` for `x[i : i + 1]`."""
    place = rows.slice[0].slice if isinstance(rows, cst.Subscript) else None
    if isinstance(rows, cst.Subscript) and isinstance(place, cst.Slice) and len(rows.slice) == 1:
        low, high = (page.code(each) if each else "" for each in (place.lower, place.upper))
        if low and high == f"{low} + 1" and place.step is None:
            return page.expression(f"{{}}[{low}]", rows.value)
    return page.expression("{}.squeeze(0)", rows)
