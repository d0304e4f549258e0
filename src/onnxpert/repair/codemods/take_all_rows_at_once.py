"""Loops over the rows of tensors, as torch.vmap of what one turn does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.loop import Rows, joined, short, unstacked, unstacked_calls
from onnxpert.repair.source.page import Page, small
from onnxpert.repair.source.turn import Turn
from onnxpert.repair.source.uses import carried, ends_early


@codemod("take-all-rows-at-once", cures=("SHP201", "SHP211", "CTL402", "CTL403"))
def take_all_rows_at_once(page: Page) -> Iterator[Change]:
    """A loop over rows is unrolled by a tracer, for as many rows as the example has."""
    for loop in page.each(cst.For):
        if isinstance(page.parent(loop), cst.IndentedBlock) and loop.orelse is None:
            try:
                yield from list(_Mapped(page, loop).changes())
            except NotByRowError:
                continue
    for call in page.calls("torch.stack", "torch.cat"):
        rows = call.args[0].value if call.args else call
        if page.is_tensor(rows):  # another change made a stack of a list that is none any more
            yield from joined(page, rows, page.code(rows))
    for made in page.each(cst.ListComp):
        try:
            yield from list(_gathered(page, made))
        except NotByRowError:
            continue


def _gathered(page: Page, made: cst.ListComp) -> Iterator[Change]:
    """A list of rows that is stacked where it is made, or later by its name."""
    turn = Turn(page, made.for_in.target, made.for_in.iter)
    if not page.is_tensor(made.elt) or made.for_in.ifs or made.for_in.inner_for_in:
        raise NotByRowError
    whole, around = turn.mapped(made.elt), page.parent(made)
    target = around.targets[0].target if isinstance(around, cst.Assign) else None
    if isinstance(target, cst.Name):
        yield made, page.expression(whole)
        yield from unstacked(page, target)
    elif isinstance(around, cst.Return):
        yield made, page.expression(whole)
        yield from unstacked_calls(page, around)
    else:
        yield from joined(page, made, whole)


class _Mapped(Rows):
    """One `for`: a function of what its turn does, and that function mapped over the rows."""

    def changes(self) -> Iterator[Change]:
        page, body = self.page, list(small(self.loop.body))
        if ends_early(page, self.loop) or carried(page, self.loop):
            raise NotByRowError
        if len(body) == 1 and (counted := self._counted(body[0])):
            yield self.loop, [counted]
            return
        lines = [self.line(each) for each in body]
        rows = [page.expression(row) for row, _ in self.results.values()]
        if not rows:
            raise NotByRowError
        function = page.fresh(self.loop, "each")
        parameters, call = self.turn.call(
            function, [*lines, *rows], [axis for _, axis in self.results.values()]
        )
        end = page.statement("return " + ", ".join(["{}"] * len(rows)), *short(lines, rows))
        given_rows = cst.Parameters([cst.Param(cst.Name(each)) for each in parameters])
        define = cst.FunctionDef(cst.Name(function), given_rows, cst.IndentedBlock([*lines, end]))
        yield self.loop, [define, page.statement(f"{', '.join(self.results)} = {call}")]
        yield from self.others

    def _counted(self, node: Any) -> cst.SimpleStatementLine | None:
        """`counts[place] += row`, all that a loop does: several rows may have one place."""
        page, target = self.page, getattr(node, "target", None)
        adds = isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign)
        if not adds or not isinstance(target, cst.Subscript) or not page.is_tensor(target.value):
            return None
        *before, last = (each.slice for each in target.slice)
        if not isinstance(last, cst.Index) or self.turn.index in map(page.code, (*before, last)):
            return None
        fixed = f"[{', '.join(map(page.code, before))}]" if before else ""
        whole, place = page.code(target.value) + fixed, self.turn.mapped(last.value)
        if page.is_tensor(node.value):
            added = self.turn.mapped(node.value)
        else:
            added = f"torch.full_like({place}, {page.code(node.value)}, dtype={whole}.dtype)"
        flat = all(len(each.shape) == len(target.slice) for each in page.values(target.value))
        method = "scatter_add" if flat else "index_add"
        return page.statement(f"{whole} = {whole}.{method}(0, {place}, {added})")
