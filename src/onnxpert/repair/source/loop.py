"""A loop over rows on its way into a function: what one turn gives, and what becomes of the lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.page import Page, below, dotted, elements, given, names_in
from onnxpert.repair.source.turn import Turn


class Rows:
    """One `for`: the lines of its turn as a function has them, and what each turn gives back."""

    def __init__(self, page: Page, loop: cst.For) -> None:
        self.page = page
        self.loop = loop
        self.turn = Turn(page, loop.target, loop.iter)
        # name -> what a turn gives, the axis of rows
        self.results: dict[str, tuple[str, int]] = {}
        self.others: list[Change] = []  # outside of the loop

    def line(self, node: cst.CSTNode) -> cst.BaseStatement:
        """A statement of a turn, as the function has it."""
        if any(_leaves(self.page, each) for each in below(node, cst.Call)):
            raise NotByRowError  # until another codemod has kept it in its tensor
        new, line = self._collected(node) or self._written(node), self.page.parent(node)
        if new is None:
            writes: list[Any] = [*below(node, cst.AssignTarget), *below(node, cst.AugAssign)]
            away = any(isinstance(each.target, cst.Attribute) for each in writes)
            if away or next(below(node, cst.Expr), None) is not None:
                raise NotByRowError  # who knows what it does, and to whom
            new = self.turn.said(node)
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
        if not isinstance(rows, cst.Name) or len(values) != 1 or rows.value in self.results:
            return None
        row = self.page.fresh(self.loop, f"{rows.value}_row")
        self.results[rows.value] = row, 0
        self.others += unstacked(self.page, rows)
        for made in below(self.page.function(rows) or rows, cst.Assign):
            targets = [self.page.code(each.target) for each in made.targets]
            if targets == [rows.value] and self.page.code(made.value) in ("[]", "list()"):
                self.others.append((made, None))
        return self.page.statement(f"{row} = {{}}", self.turn.said(values[0])).body[0]

    def _written(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """`whole[i] = row`, or `whole[i, :many] = number`: the row changes, and is given back."""
        page, (target, value) = self.page, self.page.assigned(node)
        if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
            return None
        row, axis, rest = self.turn.row(target)
        self.results[self.turn.whole(row)] = row, axis
        value = self.turn.said(value)
        if not rest:
            return page.statement(f"{row} = {{}}", value).body[0]
        (part, *more), rank = rest, max(len(each.shape) for each in page.values(target.value))
        if more or not isinstance(part, cst.Slice) or part.step is not None:
            raise NotByRowError
        places = f"torch.arange({row}.shape[0], device={row}.device)"
        ends = [(end, sign) for end, sign in ((part.lower, ">="), (part.upper, "<")) if end]
        tests = [
            page.expression(f"{places} {sign} {{}}", self.turn.said(end)) for end, sign in ends
        ]
        inside = page.expression(" & ".join(["{}"] * len(tests)), *tests)
        if rank > 2:
            inside = page.expression(f"{{}}[:{', None' * (rank - 2)}]", inside)
        return page.where(target.value, inside, value, row).body[0]


def _leaves(page: Page, call: cst.Call) -> bool:
    """Whether a call takes a number out of a tensor, which no function of all rows can do."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("item", "tolist"):
        return page.is_tensor(call.func.value)
    number = page.name(call.func) in ("int", "float", "bool") and len(call.args) == 1
    return number and page.is_tensor(call.args[0].value)


def unstacked(page: Page, rows: cst.Name) -> Iterator[Change]:
    """`rows` for `torch.stack(rows)`, of what is stacked already."""
    for use in below(page.function(rows) or rows, cst.Name):
        around = page.parent(use)
        if use.value == rows.value and isinstance(around, cst.Return):
            yield from unstacked_calls(page, around)
        elif use.value == rows.value:
            yield from joined(page, use, rows.value)


def unstacked_calls(page: Page, end: cst.Return) -> Iterator[Change]:
    """The same where a function that returns the rows is called."""
    function = page.function(end)
    for call in page.each(cst.Call):
        if function and dotted(call.func).rpartition(".")[2] == function.name.value:
            yield from joined(page, call, page.code(call))


def joined(page: Page, rows: cst.CSTNode, whole: str) -> Iterator[Change]:
    """What `torch.stack(rows, axis)` or `torch.cat(rows)` is, of rows that are stacked already."""
    around = page.parent(rows)
    node = page.parent(around) if isinstance(around, cst.Arg) else None
    name = page.name(node.func) if isinstance(node, cst.Call) else ""
    if not isinstance(node, cst.Call) or name not in ("torch.stack", "torch.cat"):
        return
    values, words = given(node)
    axis = words.get("dim", values[1] if len(values) > 1 else cst.Integer("0"))
    if values and values[0] is rows and re.fullmatch(r"-?\d+", page.code(axis)):
        at, cat = int(page.code(axis)), name == "torch.cat"
        at -= cat and at < 0
        whole += f".movedim(0, {at})" if at else ""
        yield node, page.expression(whole + (f".flatten({at}, {at + 1})" if cat else ""))


def short(lines: list[Any], rows: list[cst.BaseExpression]) -> list[cst.BaseExpression]:
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
