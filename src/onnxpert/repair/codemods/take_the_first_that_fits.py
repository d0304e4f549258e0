"""A loop that ends at the first turn in which a tensor says so: the turns from the last to the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, elements, names_in, small
from onnxpert.repair.source.uses import carried


@codemod("take-the-first-that-fits", cures=("CTL401", "CTL403", "CTL406", "CTL409", "CTL410"))
def take_the_first_that_fits(page: Page) -> Iterator[Change]:
    """When a search ends is in no trace; if every turn is made, from the last on, the first has the last word."""
    for loop in page.each(cst.For):
        block, lines = page.parent(loop), list(loop.body.body)
        if not isinstance(block, cst.IndentedBlock) or loop.orelse is not None or not lines:
            continue
        *before, asked = lines
        plain = all(isinstance(each, cst.Assign) for line in before for each in small(line))
        if plain and isinstance(asked, cst.If) and asked.orelse is None:
            found = list(small(asked.body))
            if page.is_tensor(asked.test) and isinstance(found[-1], cst.Return):
                yield from _returned(page, loop, block, asked)
            elif page.is_tensor(asked.test) and isinstance(found[-1], cst.Break):
                yield from _kept(page, loop, asked)


def _returned(
    page: Page, loop: cst.For, block: cst.IndentedBlock, asked: cst.If
) -> Iterator[Change]:
    """`if fits: return one` in the loop, and `return other` after it."""
    rest = [each for line in block.body[block.body.index(loop) + 1 :] for each in small(line)]
    (end, *more), body = (rest or [loop]), list(small(asked.body))
    ends = [each.value for each in (body[0], end) if isinstance(each, cst.Return) and each.value]
    if more or len(body) > 1 or len(ends) < 2 or carried(page, loop) or any(map(elements, ends)):
        return
    name = page.fresh(loop, "found")
    chosen = page.statement(f"{name} = torch.where({{}}, {{}}, {name})", asked.test, ends[0])
    yield loop, [page.statement(f"{name} = {{}}", ends[1]), _backwards(page, loop, [chosen])]
    yield ends[1], cst.Name(name)


def _kept(page: Page, loop: cst.For, asked: cst.If) -> Iterator[Change]:
    """`if fits: name = one; break`, of names that have another value before."""
    given = [page.assigned(each) for each in list(small(asked.body))[:-1]]
    names = [target.value for target, _ in given if isinstance(target, cst.Name)]
    *before, _ = loop.body.body
    read = [*before, asked.test, *(value for _, value in given)]
    if len(names) < len(given) or not names or set(carried(page, loop)) != set(names):
        return
    if set(names) & {name for each in read for name in names_in(each)}:
        return
    test = page.fresh(loop, "fits")
    lines = [page.statement(f"{test} = {{}}", asked.test)]
    lines += [
        page.statement(f"{name} = torch.where({test}, {{}}, {name})", value)
        for name, (_, value) in zip(names, given, strict=True)
    ]
    yield loop, [_backwards(page, loop, lines)]


def _backwards(page: Page, loop: cst.For, lines: Sequence[Any]) -> cst.For:
    """The loop from its last turn on, with these lines for its question."""
    ranged = isinstance(loop.iter, cst.Call) and page.name(loop.iter.func) == "range"
    turns = page.expression("reversed({})" if ranged else "reversed(list({}))", loop.iter)
    body = loop.body.with_changes(body=[*loop.body.body[:-1], *lines])
    return loop.with_changes(iter=turns, body=body, leading_lines=[])
