"""Attributes that forward assigns for itself, as local names."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.guarding import guarded
from onnxpert.repair.source.logs import assignment, attributes, function_name, is_for_others, logs
from onnxpert.repair.source.page import Page, below, names_in


@codemod("keep-values-local", cures=("STA302",))
def keep_values_local(page: Page) -> Iterator[Change]:
    """What forward puts on the module or into a global is not in the file: a name of its own, or outside of exports alone."""
    for owner in below(page.tree, cst.ClassDef):
        taken, kept = names_in(owner), logs(page, owner)
        for name, nodes in attributes(owner).items():
            if name in kept:
                for statement in kept[name]:
                    yield from _outside(page, statement)
                continue
            here = [node for node in nodes if function_name(page, node) == "forward"]
            # A constructor may give it a first value; whoever reads it anywhere else needs it there.
            if all(assignment(page, node) for node in nodes if node not in here):
                yield from _localised(page, here, f"{name}_" if name in taken else name)
    for made in page.each(cst.Assign):
        parts = below(made.value, cst.BaseExpression)  # type: ignore[type-abstract]
        if is_for_others(page, made) and any(map(page.is_tensor, parts)):
            yield from _outside(page, made)


def _localised(page: Page, uses: list[cst.Attribute], name: str) -> Iterator[Change]:
    """Assigned first, at the top of the function, so that it is there wherever it is read."""
    first = assignment(page, uses[0]) if uses else None
    line = page.line(first) if first else None
    if first is None or line is None or not _is_at_top(page, line):
        return
    if len(uses) == 1:  # it is for somebody outside
        yield from guarded(page, line)
    else:
        yield from ((node, cst.Name(name)) for node in uses)


def _outside(page: Page, statement: cst.BaseSmallStatement) -> Iterator[Change]:
    if line := page.line(statement):
        yield from guarded(page, line)


def _is_at_top(page: Page, line: cst.CSTNode) -> bool:
    block = page.parent(line)
    return block is not None and isinstance(page.parent(block), cst.FunctionDef)
