"""`break` and `continue` on a tensor's value, as turns that change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.folding import appended, folded
from onnxpert.repair.source.page import Page, below, dotted, small
from onnxpert.repair.source.state import anew, firsts, is_truth
from onnxpert.repair.source.uses import bound, carried, read_after


@codemod("stop-with-a-mask", cures=("CTL401", "CTL403", "CTL406", "CTL409"))
def stop_with_a_mask(page: Page) -> Iterator[Change]:
    """When a loop ends is in no trace; the turns that are left can do nothing instead."""
    loops: list[cst.For | cst.While] = [*page.each(cst.For), *page.each(cst.While)]
    for loop in loops:
        block = page.parent(loop)
        if isinstance(block, cst.IndentedBlock) and loop.orelse is None:
            for at, line in enumerate(loop.body.body):
                if isinstance(line, cst.If) and (kind := _ending(page, line)):
                    try:
                        yield from list(_Masked(page, loop, at, kind).changes())
                    except NotByRowError:
                        continue
                    break  # the next one has its turn when this one is gone


def _ending(page: Page, branch: cst.If) -> str:
    """What it does but ask a tensor, "" if that is more than to end the turn or the loop."""
    body = list(small(branch.body))
    ends = isinstance(body[0], (cst.Break, cst.Continue)) and len(body) == 1
    return (
        type(body[0]).__name__ if ends and not branch.orelse and page.is_tensor(branch.test) else ""
    )


@dataclass
class _Masked:
    """One loop, and the `if` in it that ends a turn."""

    page: Page
    loop: cst.For | cst.While
    at: int
    kind: str
    lists: dict[str, str] = field(default_factory=dict)  # to which a turn adds -> of which turns
    late: frozenset[str] = frozenset()  # what has no value before the first turn
    written: tuple[str, ...] = ()  # the function's own tensors that a turn writes into

    def changes(self) -> Iterator[Change]:
        page, loop, lines = self.page, self.loop, list(self.loop.body.body)
        state, branch = carried(page, loop), cst.ensure_type(lines[self.at], cst.If)
        lost = [name for name in bound(loop.body) if name not in state]
        new_ones = [name for name in lost if read_after(page, loop, name)]
        self.late = frozenset([*new_ones, *(name for name in state if _is_none(page, loop, name))])
        stops = self.kind == "Break"
        if not isinstance(loop.body, cst.IndentedBlock) or not all(map(self._is_soon, self.late)):
            raise NotByRowError
        self.written = tuple(_written(page, loop))
        state = [*state, *new_ones, *(each for each in self.written if each not in state)]
        done = page.fresh(loop, "stopped" if stops else "skipped")
        before: list[Any] = lines[: self.at]
        after = lines[self.at + 1 :]
        if stops and isinstance(loop, cst.For):
            before = self._masked(before, state, done)
        said = f"{done} | {{}}" if stops else "{}"
        asked = page.statement(f"{done} = {said}", branch.test).with_changes(
            leading_lines=branch.leading_lines
        )
        body = [*before, asked, *self._masked(after, state, done)]
        new: Any = loop.with_changes(body=loop.body.with_changes(body=body), leading_lines=[])
        if stops and isinstance(loop, cst.While):
            new = new.with_changes(test=self._going(loop.test, done))
        first = [page.statement(f"{done} = torch.tensor(False)")] if stops else []
        first += [page.statement(f"{name} = []") for name in self.lists.values()]
        first += [page.statement(f"{name} = None") for name in new_ones]
        yield loop, [*first, new]
        yield from folded(page, loop, self.lists)

    def _is_soon(self, name: str) -> bool:
        """Whether a name has its value in the first turn, whenever that ends: before it asks, and only there."""
        lines = self.loop.body.body
        before, after = lines[: self.at], lines[self.at + 1 :]
        given = [bound(each) for each in before if not isinstance(each, cst.BaseCompoundStatement)]
        later = any(name in bound(each) for each in after)
        return self.kind == "Break" and any(name in each for each in given) and not later

    def _going(self, test: cst.BaseExpression, done: str) -> cst.BaseExpression:
        always = self.page.code(test) in ("True", "1")
        return self.page.expression(
            f"not {done}" if always else f"{{}} and not {done}", *([] if always else [test])
        )

    def _masked(
        self, lines: Sequence[Any], state: Sequence[str], done: str
    ) -> list[cst.BaseStatement]:
        """Lines that leave everything as it is, where it is done."""
        names = {name for each in lines for name in (*bound(each), *_bases(each))}
        changed = [name for name in state if name in names]
        kept = {name: self.page.fresh(self.loop, f"{name}_kept") for name in changed}
        new: list[cst.BaseStatement] = [
            self.page.statement(f"{one} = {name}{'.clone()' * (name in self.written)}")
            for name, one in kept.items()
        ]
        for line in lines:
            new.append(anew(self.page, line, state))
            new += [
                self.page.statement(f"{self._listed(each)}.append(~{done})")
                for each in self._added(line, state)
            ]
        return new + [
            self.page.statement(f"{name} = {self._chosen(name, done, one)}")
            for name, one in kept.items()
        ]

    def _added(self, line: cst.CSTNode, state: Sequence[str]) -> list[str]:
        """The lists to which a line adds. Raises NotByRowError for anything else that is done there."""
        # Names of the turn, which nobody else sees, and what is taken back.
        own = ({*bound(self.loop.body)} - {*state}) | {*self.written}
        away = _away(line)
        calls = list(below(line, cst.Expr))
        found = [appended(each) for each in calls if each in small(line)]
        seen = any(dotted(each.value) not in own for each in away)
        if seen or len(found) < len(calls) or not all(found):
            raise NotByRowError
        return found

    def _chosen(self, name: str, done: str, kept: str) -> str:
        """The old or the new value; of truth values without Where, which runtimes have not for them."""
        if is_truth(self.page, self.loop, name):
            new = f"({done} & {kept}) | (~{done} & {name})"
        else:
            new = f"torch.where({done}, {kept}, {name})"
        return f"{name} if {kept} is None else {new}" if name in self.late else new

    def _listed(self, name: str) -> str:
        return self.lists.setdefault(name, self.page.fresh(self.loop, f"{name}_taken"))


def _is_none(page: Page, loop: cst.CSTNode, name: str) -> bool:
    return any(page.code(each) == "None" for each in firsts(page, loop, name)[:1])


def _away(node: cst.CSTNode) -> list[cst.Subscript | cst.Attribute]:
    """What is written into."""
    writes: list[Any] = [*below(node, cst.AssignTarget), *below(node, cst.AugAssign)]
    parts = [each.target for each in writes]
    return [each for each in parts if isinstance(each, (cst.Subscript, cst.Attribute))]


def _bases(node: cst.CSTNode) -> list[str]:
    return [dotted(each.value) for each in _away(node) if isinstance(each, cst.Subscript)]


def _written(page: Page, loop: cst.For | cst.While) -> Iterator[str]:
    """The tensors that the function has made before the loop, and which a turn writes into."""
    for name in dict.fromkeys(_bases(loop.body)):
        made = firsts(page, loop, name)[:1]
        uses = [each for each in below(loop.body, cst.Name) if each.value == name]
        tensors = [each for each in uses if page.values(each)]
        if made and isinstance(made[0], cst.Call) and all(map(page.is_tensor, tensors)):
            yield name
