"""A dataclass that forward returns, made known to torch.export."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, dotted

_REGISTER = "torch.export.register_dataclass({})"


@codemod("register-results", cures=("CAP001",))
def register_results(page: Page) -> Iterator[Change]:
    """torch.export takes a dataclass apart only if it was told of it."""
    known = {page.code(each) for each in below(page.tree, cst.Call)}
    made = {dotted(call.func) for call in page.each(cst.Call)}
    for owner in page.tree.body:
        if not isinstance(owner, cst.ClassDef) or owner.name.value not in made:
            continue
        told = _REGISTER.format(owner.name.value)
        if told not in known and any(map(_is_dataclass, owner.decorators)):
            line = page.statement(told).with_changes(
                leading_lines=[cst.EmptyLine(indent=False)] * 2
            )
            yield owner, [owner, line]


def _is_dataclass(node: cst.Decorator) -> bool:
    called = node.decorator.func if isinstance(node.decorator, cst.Call) else node.decorator
    return dotted(called).rpartition(".")[2] == "dataclass"
