"""`if` around what is added to a list, as an answer that is added to another."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.folding import appended, folded
from onnxpert.repair.source.page import Page, below, small


@codemod("add-with-a-mask", cures=("CTL401", "CTL406", "CTL409"))
def add_with_a_mask(page: Page) -> Iterator[Change]:
    """How long a list gets is in no trace; a mask says what of it counts."""
    for loop in page.each(cst.For):
        if not isinstance(loop.body, cst.IndentedBlock):
            continue
        for branch in loop.body.body:
            if isinstance(branch, cst.If) and branch.orelse is None and page.is_tensor(branch.test):
                try:
                    yield from list(_added(page, loop, branch))
                except NotByRowError:
                    continue


def _added(page: Page, loop: cst.For, branch: cst.If) -> Iterator[Change]:
    body = list(small(branch.body))
    name = appended(body[0])
    everywhere = [appended(each) for each in below(page.function(loop) or loop, cst.Expr)]
    if len(body) != 1 or not name or everywhere.count(name) != 1:
        raise NotByRowError
    taken = page.fresh(loop, f"{name}_taken")
    line = cst.SimpleStatementLine([cst.ensure_type(body[0], cst.Expr)])
    answer = page.statement(f"{taken}.append({{}})", branch.test)
    lines = [
        new for each in loop.body.body for new in ([line, answer] if each is branch else [each])
    ]
    new = loop.with_changes(body=loop.body.with_changes(body=lines), leading_lines=[])
    yield loop, [page.statement(f"{taken} = []"), new]
    yield from folded(page, loop, {name: taken})
