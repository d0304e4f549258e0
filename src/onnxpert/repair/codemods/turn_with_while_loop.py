"""`while` on a tensor's value, as torch's while_loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.page import Page, below, everything
from onnxpert.repair.source.state import anew, anew_later, as_tensor, own
from onnxpert.repair.source.uses import bound, carried, ends_early, read_after
from onnxpert.repair.source.watching import Kind


@codemod("turn-with-while-loop", cures=("CTL401", "CTL403", "CTL406", "CTL409"))
def turn_with_while_loop(page: Page) -> Iterator[Change]:
    """How often a `while` turns is in no trace; torch's while_loop is one, and stays a loop in the file."""
    for loop in page.each(cst.While):
        block = page.parent(loop)
        if isinstance(block, cst.IndentedBlock) and loop.orelse is None:
            try:
                yield loop, list(_turned(page, loop))
                yield from anew_later(page, loop, carried(page, loop))
            except NotByRowError:
                continue


def _turned(page: Page, loop: cst.While) -> Iterator[cst.BaseStatement]:
    state = carried(page, loop)
    lost = [name for name in bound(loop.body) if name not in state]
    if not state or ends_early(page, loop) or _acts(loop) or not _asks(page, loop.test):
        raise NotByRowError
    if any(read_after(page, loop, name) for name in lost):
        raise NotByRowError
    before = [as_tensor(page, loop, name) for name in state]
    goes_on, turn = (page.fresh(loop, name) for name in ("goes_on", "turn"))
    lines = [anew(page, line, state) for line in loop.body.body]
    end = page.statement(f"return {_tuple([own(loop, name) for name in state])}")
    given = cst.Parameters([cst.Param(cst.Name(name)) for name in state])
    test = page.statement("return {}", loop.test)
    yield cst.FunctionDef(cst.Name(goes_on), given, cst.IndentedBlock([test]))
    yield cst.FunctionDef(cst.Name(turn), given, cst.IndentedBlock([*lines, end]))
    call = f"torch._higher_order_ops.while_loop({goes_on}, {turn}, {_tuple(before)})"
    yield page.statement(f"{_tuple(state)} = {call}")


def _asks(page: Page, test: cst.BaseExpression) -> bool:
    """Whether it is a tensor's value that decides, at least from the second turn on."""
    seen = [kind.kind for each in everything(test) for kind in page.values(each)]
    return page.was(test, Kind.TENSOR, Kind.BOOL) and Kind.TENSOR in seen


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _acts(loop: cst.While) -> bool:
    """Whether a turn does more than to give names values: writes into something, or calls for effect."""
    writes: list[Any] = [*below(loop.body, cst.AssignTarget), *below(loop.body, cst.AugAssign)]
    parts = (cst.Attribute, cst.Subscript)
    calls = next(below(loop.body, cst.Expr), None) is not None
    inline = not isinstance(loop.body, cst.IndentedBlock)
    return inline or calls or any(isinstance(each.target, parts) for each in writes)
