"""Loops over the rows of tensors, said of all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, dotted, given
from onnxpert.repair.source.rows import NotByRowError, Rows, Said


@codemod("take-all-rows-at-once", cures=("SHP201", "SHP211", "CTL402", "CTL403"))
def take_all_rows_at_once(page: Page) -> Iterator[Change]:
    """A loop over rows is unrolled by a tracer, for as many rows as the example has."""
    for loop in page.each(cst.For):
        if isinstance(page.parent(loop), cst.IndentedBlock) and loop.orelse is None:
            try:
                yield from list(_Loop(page, loop).changes())
            except NotByRowError:
                continue
    for made in page.each(cst.ListComp):
        try:
            yield from _gathered(page, made)
        except NotByRowError:
            continue


def _gathered(page: Page, made: cst.ListComp) -> list[Change]:
    """A list of rows that is stacked where it is made, or later by its name."""
    rows = _rows(page, made.for_in.target, made.for_in.iter)
    if rows is None or made.for_in.ifs or made.for_in.inner_for_in:
        raise NotByRowError
    said, around = rows.said(made.elt), page.parent(made)
    stack = page.parent(around) if isinstance(around, cst.Arg) else None
    if (axis := _stacked(page, stack, made)) is not None and stack is not None:
        return [(stack, page.expression(_moved(said, axis)))]
    target = around.targets[0].target if isinstance(around, cst.Assign) else None
    if not isinstance(target, cst.Name):
        raise NotByRowError
    uses = [each for each in _uses(page, target) if each is not target]
    return [
        (made, page.expression(_moved(said, 0))),
        *(_unstacked(page, each, said) for each in uses),
    ]


def _uses(page: Page, name: cst.Name) -> list[cst.Name]:
    function = page.function(name)
    return [each for each in below(function or name, cst.Name) if each.value == name.value]


def _unstacked(page: Page, name: cst.Name, said: Said) -> Change:
    """`rows` for `torch.stack(rows)`, of what is stacked already."""
    around = page.parent(name)
    stack = page.parent(around) if isinstance(around, cst.Arg) else None
    axis = _stacked(page, stack, name)
    if axis is None or stack is None:
        raise NotByRowError
    return stack, page.expression(_moved(Said(name.value, said.rank), axis))


def _rows(page: Page, target: cst.CSTNode, over: cst.BaseExpression) -> Rows | None:
    """What the names of a loop's head stand for; None where it is not over rows."""
    name = page.name(over.func) if isinstance(over, cst.Call) else ""
    values = given(over)[0] if isinstance(over, cst.Call) else []
    names = [each.value for each in below(target, cst.Name)]
    if name == "range" and len(values) == 1 and len(names) == 1:
        return Rows(page, names[0], {}, f"torch.arange({page.code(values[0])})")
    index = names.pop(0) if name == "enumerate" and len(names) == 2 else ""
    tensors = values if name in ("enumerate", "zip") else [over]
    sources = [_tensor(page, each) for each in tensors]
    if len(names) != len(sources) or not all(sources):
        return None
    rows = {
        row: Said(source, rank)
        for row, (source, rank) in zip(names, filter(None, sources), strict=True)
    }
    first = next(iter(rows.values())).part
    return Rows(page, index, rows, f"torch.arange({first}.shape[0])")


def _tensor(page: Page, node: cst.BaseExpression) -> tuple[str, int] | None:
    """The code of a tensor, or of one that a list was made of, and the rank of its rows."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value if node.func.attr.value == "tolist" else node
    if not page.is_tensor(node) or not isinstance(node, (cst.Name, cst.Attribute, cst.Call)):
        return None
    return page.code(node), len(page.values(node)[0].shape) - 1


def _stacked(page: Page, node: cst.CSTNode | None, rows: cst.BaseExpression) -> int | None:
    """The axis of `torch.stack(rows, axis)`, None for any other call."""
    if not isinstance(node, cst.Call) or page.name(node.func) != "torch.stack":
        return None
    values, words = given(node)
    axis = words.get("dim", values[1] if len(values) > 1 else cst.Integer("0"))
    is_it = bool(values) and (values[0] is rows or page.code(values[0]) == page.code(rows))
    return axis.evaluated_value if is_it and isinstance(axis, cst.Integer) else None


def _moved(said: Said, axis: int) -> str:
    if said.rank is None:
        raise NotByRowError
    return f"{said.part}.movedim(0, {axis})" if axis else said.code


class _Loop:
    """One `for`, its head read, its body to be said anew."""

    def __init__(self, page: Page, loop: cst.For) -> None:
        rows = _rows(page, loop.target, loop.iter)
        if rows is None:
            raise NotByRowError
        targets = (each.target for each in below(loop.body, cst.AssignTarget))
        self._page = page
        self._loop = loop
        self._rows = replace(
            rows, made={each.value for each in targets if isinstance(each, cst.Name)}
        )
        self._lines: list[cst.SimpleStatementLine] = []
        self._others: list[Change] = []

    def changes(self) -> Iterator[Change]:
        for each in self._loop.body.body:
            if not isinstance(each, cst.SimpleStatementLine) or len(each.body) > 1:
                raise NotByRowError
            line = self._line(each.body[0])
            self._lines.append(line.with_changes(trailing_whitespace=each.trailing_whitespace))
        yield self._loop, self._lines
        yield from self._others

    def _line(self, node: cst.CSTNode) -> cst.SimpleStatementLine:
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
            return self._appended(node.value)
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            target = node.targets[0].target
            if isinstance(target, cst.Name):
                said = self._rows.said(node.value)
                if said.rank is None:
                    raise NotByRowError
                self._rows.known[target.value] = said.rank
                return self._page.statement(f"{target.value} = {said.code}")
            return self._written(target, node.value, "")
        if isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Subscript):
            sign = self._page.code(node.operator).strip().removesuffix("=")
            counted = self._counted(node.target, node.value) if sign == "+" else None
            return counted or self._written(node.target, node.value, sign)
        raise NotByRowError

    def _appended(self, call: cst.Call) -> cst.SimpleStatementLine:
        """`rows.append(row)`, of a list that is made empty before and stacked after."""
        values, _ = given(call)
        rows = call.func.value if isinstance(call.func, cst.Attribute) else None
        if not isinstance(rows, cst.Name) or not dotted(call.func).endswith(".append"):
            raise NotByRowError
        said = self._rows.said(values[0])
        for use in _uses(self._page, rows):
            around = self._page.parent(use)
            made = self._page.parent(around) if isinstance(around, cst.AssignTarget) else None
            if isinstance(made, cst.Assign) and self._page.code(made.value) in ("[]", "list()"):
                self._others.append((made, None))
            elif use is not rows:
                self._others.append(_unstacked(self._page, use, said))
        return self._page.statement(f"{rows.value} = {_moved(said, 0)}")

    def _counted(
        self, target: cst.Subscript, value: cst.BaseExpression
    ) -> cst.SimpleStatementLine | None:
        """`counts[place of the row] += 1`: several rows may have one place."""
        *before, last = (each.slice for each in target.slice)
        if not isinstance(last, cst.Index) or self._page.code(last) == self._rows.index:
            return None
        place, new = self._rows.said(last.value), self._rows.said(value)
        if place.rank != 0 or new.rank or self._rows.rank(target.value) != len(target.slice):
            raise NotByRowError
        name = self._page.code(target.value)
        fixed = ", ".join(self._rows.bare(each) for each in before)
        whole = f"{name}[{fixed}]" if fixed else name
        added = f"torch.full_like({place.code}, {new.code}, dtype={name}.dtype)"
        if new.rank == 0:
            added = f"{new.part}.to({name}.dtype)"
        return self._page.statement(f"{whole} = {whole}.scatter_add(0, {place.code}, {added})")

    def _written(
        self, target: cst.CSTNode, value: cst.BaseExpression, sign: str
    ) -> cst.SimpleStatementLine:
        """`whole[i] = row`, or `whole[i, :many] = number`."""
        if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
            raise NotByRowError
        name, places = target.value.value, [each.slice for each in target.slice]
        if self._page.code(places[0]) != self._rows.index or len(places) > 2:
            raise NotByRowError
        rank = self._rows.rank(target.value) - 1
        new = self._rows.said(value)
        if sign:
            operand = new.padded(rank)
            new = Said(f"{name} {sign} {operand}", rank, firm=False)
        if len(places) == 1 and new.rank == rank:
            self._rows.known[name] = rank
            return self._page.statement(f"{name} = {new.code}")
        if len(places) == 2 and isinstance(places[1], cst.Slice) and new.rank in (None, rank):
            inside = self._inside(name, places[1])
            if rank > 1:
                inside = f"({inside})[:, :{', None' * (rank - 1)}]"
            parts = (self._page.expression(each) for each in (inside, new.code))
            return self._page.where(target.value, *parts)
        raise NotByRowError

    def _inside(self, name: str, place: cst.Slice) -> str:
        """Whether a place of a row lies in a slice whose ends are the row's own."""
        places = f"torch.arange({name}.shape[1], device={name}.device)"
        ends = ((place.lower, ">="), (place.upper, "<"))
        parts = [
            f"{places} {sign} {self._rows.said(end).padded(1)}"
            for end, sign in ends
            if end is not None
        ]
        if not parts or place.step is not None:
            raise NotByRowError
        return parts[0] if len(parts) == 1 else f"({parts[0]}) & ({parts[1]})"
