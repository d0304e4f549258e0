"""Loops over the rows of tensors, as torch.vmap of what one turn does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import (
    Page,
    below,
    dotted,
    elements,
    everything,
    given,
    names_in,
    small,
)
from onnxpert.repair.source.turn import NotByRowError, Turn

_ENDING = (cst.Return, cst.Break, cst.Continue, cst.Yield)


@codemod("take-all-rows-at-once", cures=("SHP201", "SHP211", "CTL402", "CTL403"))
def take_all_rows_at_once(page: Page) -> Iterator[Change]:
    """A loop over rows is unrolled by a tracer, for as many rows as the example has."""
    for loop in page.each(cst.For):
        if isinstance(page.parent(loop), cst.IndentedBlock) and loop.orelse is None:
            try:
                yield from list(_Mapped(page, loop).changes())
            except NotByRowError:
                continue
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
        yield from _unstacked(page, target)
    elif isinstance(around, cst.Return):
        yield made, page.expression(whole)
        yield from _unstacked_calls(page, around)
    else:
        yield from _joined(page, made, whole)


def _unstacked(page: Page, rows: cst.Name) -> Iterator[Change]:
    """`rows` for `torch.stack(rows)`, of what is stacked already."""
    for use in below(page.function(rows) or rows, cst.Name):
        around = page.parent(use)
        if use.value == rows.value and isinstance(around, cst.Return):
            yield from _unstacked_calls(page, around)
        elif use.value == rows.value:
            yield from _joined(page, use, rows.value)


def _unstacked_calls(page: Page, end: cst.Return) -> Iterator[Change]:
    """The same where a function that returns the rows is called."""
    function = page.function(end)
    for call in page.each(cst.Call):
        if function and dotted(call.func).rpartition(".")[2] == function.name.value:
            yield from _joined(page, call, page.code(call))


def _joined(page: Page, rows: cst.CSTNode, whole: str) -> Iterator[Change]:
    """What `torch.stack(rows, axis)` or `torch.cat(rows)` is, of rows that are stacked already."""
    around = page.parent(rows)
    node = page.parent(around) if isinstance(around, cst.Arg) else None
    name = page.name(node.func) if isinstance(node, cst.Call) else ""
    if not isinstance(node, cst.Call) or name not in ("torch.stack", "torch.cat"):
        return
    values, words = given(node)
    axis = words.get("dim", values[1] if len(values) > 1 else cst.Integer("0"))
    if values and values[0] is rows and isinstance(axis, cst.Integer):
        at = axis.evaluated_value
        whole += f".movedim(0, {at})" if at else ""
        yield (
            node,
            page.expression(whole + (f".flatten({at}, {at + 1})" if name == "torch.cat" else "")),
        )


class _Mapped:
    """One `for`: a function of what its turn does, and that function mapped over the rows."""

    def __init__(self, page: Page, loop: cst.For) -> None:
        self._page = page
        self._loop = loop
        self._turn = Turn(page, loop.target, loop.iter)
        self._results: dict[
            str, tuple[str, int]
        ] = {}  # name -> what a turn gives, the axis of rows
        self._others: list[Change] = []

    def changes(self) -> Iterator[Change]:
        page, body = self._page, list(small(self._loop.body))
        around, ends = page.function(self._loop), self._loop.body
        # what an inner loop became has a return of its own
        if any(isinstance(e, _ENDING) and page.function(e) is around for e in everything(ends)):
            raise NotByRowError
        if len(body) == 1 and (counted := self._counted(body[0])):
            yield self._loop, [counted]
            return
        lines = [self._line(each) for each in body]
        rows = [page.expression(row) for row, _ in self._results.values()]
        if not rows:
            raise NotByRowError
        function = page.fresh(self._loop, "each")
        parameters, call = self._turn.call(
            function, [*lines, *rows], [axis for _, axis in self._results.values()]
        )
        end = page.statement("return " + ", ".join(["{}"] * len(rows)), *_short(lines, rows))
        given_rows = cst.Parameters([cst.Param(cst.Name(each)) for each in parameters])
        define = cst.FunctionDef(cst.Name(function), given_rows, cst.IndentedBlock([*lines, end]))
        yield self._loop, [define, page.statement(f"{', '.join(self._results)} = {call}")]
        yield from self._others

    def _line(self, node: cst.CSTNode) -> cst.BaseStatement:
        """A statement of a turn, as the function has it."""
        new, line = self._collected(node) or self._written(node), self._page.parent(node)
        if new is None:
            writes: list[Any] = [*below(node, cst.AssignTarget), *below(node, cst.AugAssign)]
            away = any(isinstance(each.target, cst.Attribute) for each in writes)
            if away or next(below(node, cst.Expr), None) is not None:
                raise NotByRowError  # who knows what it does, and to whom
            new = self._turn.said(node)
        if isinstance(new, cst.BaseCompoundStatement):
            return new
        alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        return line.with_changes(body=[new]) if alone else cst.SimpleStatementLine([new])  # type: ignore[union-attr, return-value]

    def _collected(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """`rows.append(row)` or `rows += [row]`: the row is given back, under a name of its own."""
        call = node.value if isinstance(node, cst.Expr) else None
        rows: cst.CSTNode | None = None
        if isinstance(call, cst.Call) and dotted(call.func).endswith(".append"):
            rows, values = cst.ensure_type(call.func, cst.Attribute).value, given(call)[0]
        elif isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
            rows, values = node.target, elements(node.value)
        if not isinstance(rows, cst.Name) or len(values) != 1 or rows.value in self._results:
            return None
        row = self._page.fresh(self._loop, f"{rows.value}_row")
        self._results[rows.value] = row, 0
        self._others += _unstacked(self._page, rows)
        for made in below(self._page.function(rows) or rows, cst.Assign):
            targets = [self._page.code(each.target) for each in made.targets]
            if targets == [rows.value] and self._page.code(made.value) in ("[]", "list()"):
                self._others.append((made, None))
        return self._page.statement(f"{row} = {{}}", self._turn.said(values[0])).body[0]

    def _written(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """`whole[i] = row`, or `whole[i, :many] = number`: the row changes, and is given back."""
        page, (target, value) = self._page, self._page.assigned(node)
        if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
            return None
        row, axis, rest = self._turn.row(target)
        self._results[self._turn.whole(row)] = row, axis
        value = self._turn.said(value)
        if not rest:
            return page.statement(f"{row} = {{}}", value).body[0]
        (part, *more), rank = rest, max(len(each.shape) for each in page.values(target.value))
        if more or not isinstance(part, cst.Slice) or part.step is not None:
            raise NotByRowError
        places = f"torch.arange({row}.shape[0], device={row}.device)"
        ends = [(end, sign) for end, sign in ((part.lower, ">="), (part.upper, "<")) if end]
        tests = [
            page.expression(f"{places} {sign} {{}}", self._turn.said(end)) for end, sign in ends
        ]
        inside = page.expression(" & ".join(["{}"] * len(tests)), *tests)
        if rank > 2:
            inside = page.expression(f"{{}}[:{', None' * (rank - 2)}]", inside)
        return page.where(target.value, inside, value, row).body[0]

    def _counted(self, node: Any) -> cst.SimpleStatementLine | None:
        """`counts[place] += row`, all that a loop does: several rows may have one place."""
        page, target = self._page, getattr(node, "target", None)
        adds = isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign)
        if not adds or not isinstance(target, cst.Subscript):
            return None
        *before, last = (each.slice for each in target.slice)
        if not isinstance(last, cst.Index) or self._turn.index in map(page.code, (*before, last)):
            return None
        fixed = f"[{', '.join(map(page.code, before))}]" if before else ""
        whole, place = page.code(target.value) + fixed, self._turn.mapped(last.value)
        if page.is_tensor(node.value):
            added = self._turn.mapped(node.value)
        else:
            added = f"torch.full_like({place}, {page.code(node.value)}, dtype={whole}.dtype)"
        flat = all(len(each.shape) == len(target.slice) for each in page.values(target.value))
        method = "scatter_add" if flat else "index_add"
        return page.statement(f"{whole} = {whole}.{method}(0, {place}, {added})")


def _short(lines: list[Any], rows: list[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """What is returned, without the names that only the last lines give it."""
    while lines and isinstance(lines[-1], cst.SimpleStatementLine):
        last = lines[-1].body[0]
        target = last.targets[0].target if isinstance(last, cst.Assign) else last
        at = [number for number, each in enumerate(rows) if each.deep_equals(target)]
        others = [names_in(each) for each in rows if not each.deep_equals(target)]
        if (
            not isinstance(last, cst.Assign)
            or len(at) != 1
            or names_in(target) & set().union(*others)
        ):
            break
        rows[at[0]] = last.value
        lines.pop()
    return rows
