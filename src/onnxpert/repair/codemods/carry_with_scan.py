"""Loops over rows in which one turn needs the one before, as torch's scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.loop import Rows
from onnxpert.repair.source.page import Page, small
from onnxpert.repair.source.state import anew, anew_later, as_tensor, is_begun, lasts, own
from onnxpert.repair.source.uses import bound, carried, ends_early, read_after, unpacked


@codemod("carry-with-scan", cures=("SHP201", "SHP211", "CTL402", "CTL403"))
def carry_with_scan(page: Page) -> Iterator[Change]:
    """A loop over a size is unrolled by a tracer; torch's scan is one, and stays a loop in the file."""
    for loop in page.each(cst.For):
        if isinstance(page.parent(loop), cst.IndentedBlock) and loop.orelse is None:
            try:
                yield from list(_Scanned(page, loop).changes())
            except NotByRowError:
                continue


class _Scanned(Rows):
    """One `for`: a function of what is carried and of a row, and the scan of that function."""

    def changes(self) -> Iterator[Change]:
        page, loop = self.page, self.loop
        state, last = carried(page, loop), lasts(page, loop)
        if not (state or last) or ends_early(page, loop) or not self.turn.is_open:
            raise NotByRowError
        lines = [anew(page, self.line(each), state) for each in small(loop.body)]
        lines = [last.said(each) for each in lines]
        lost = [name for name in bound(loop.body) if name not in (*state, *self.results)]
        if any(read_after(page, loop, name) for name in lost):
            raise NotByRowError
        # before the first turn -> in a turn -> after it
        held = [(as_tensor(page, loop, name), name, own(loop, name)) for name in state]
        held += [(f"{name}[-1]", one, self.results[name][0]) for name, one in last.names.items()]
        given = [page.expression(row) for row, _ in self.results.values()]
        rows = self.turn.rows([*lines, *given])
        step = page.fresh(loop, "step")
        yield loop, [self._function(step, held, list(rows), lines), *self._call(step, held, rows)]
        yield from self.others
        yield from anew_later(page, loop, state)

    def _function(
        self,
        step: str,
        held: Sequence[tuple[str, str, str]],
        rows: Sequence[str],
        lines: Sequence[cst.BaseStatement],
    ) -> cst.FunctionDef:
        page, parameters, opening = self.page, [], []
        for names, one in (([name for _, name, _ in held], "carried"), (rows, "rows")):
            name = names[0] if len(names) == 1 else page.fresh(self.loop, one)
            parameters.append(cst.Param(cst.Name(name)))
            if len(names) > 1:
                opening.append(page.statement(f"{', '.join(names)} = {name}"))
        # What comes out of a turn may not be what went in, nor one tensor twice.
        given = [f"{row}.clone()" for row, _ in self.results.values()]
        kept = unpacked([code for _, _, code in held])
        end = page.statement(f"return {kept}, {unpacked(given) if given else '()'}")
        body = cst.IndentedBlock([*opening, *lines, end])
        return cst.FunctionDef(cst.Name(step), cst.Parameters(parameters), body)

    def _call(
        self, step: str, held: Sequence[tuple[str, str, str]], rows: dict[str, str]
    ) -> Iterator[cst.SimpleStatementLine]:
        page = self.page
        begun = [name for name in self.results if is_begun(page, self.loop, name)]
        names = [f"{name}_rows" if name in begun else name for name in self.results]
        before, after = (
            unpacked([code for code, _, _ in held]),
            unpacked([one for _, one, _ in held]),
        )
        gives, given = unpacked(names) if names else "_", unpacked([*rows.values()])
        call = f"torch._higher_order_ops.scan({step}, {before}, {given})"
        yield page.statement(f"{after}, {gives} = {call}")
        for name in begun:
            yield page.statement(f"{name} = torch.cat([torch.stack({name}), {name}_rows])")
        for name, (_, axis) in self.results.items():
            if axis:
                yield page.statement(f"{name} = {name}.movedim(0, {axis})")
