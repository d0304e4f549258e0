"""Checks of tensor values, made when the model runs and not when it is exported."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.guarding import guarded
from onnxpert.repair.source.page import Page, below, everything, small
from onnxpert.repair.source.raising import catchers, raised


@codemod("check-outside-of-exports", cures=("CTL404", "CTL407", "CTL401"))
def check_outside_of_exports(page: Page) -> Iterator[Change]:
    """A check of values cannot be in the graph; outside of an export it is made as before."""
    for check in page.each(cst.Assert):
        line = page.line(check)
        free = line is not None and not catchers(page, "AssertionError")
        if free and line is not None and _reads_values(page, check.test):
            yield from guarded(page, line)
    for branch in page.each(cst.If):
        errors = [raised(each) for each in small(branch.body)]
        # What is caught again is no check but a way on.
        free = all(errors) and not any(catchers(page, each) for each in errors)
        if free and branch.orelse is None and _reads_values(page, branch.test):
            yield from guarded(page, branch)


def _reads_values(page: Page, test: cst.BaseExpression) -> bool:
    """Whether a tensor, rather than its shape, dtype or kind, is asked."""
    if isinstance(test, cst.Call) and page.name(test.func) == "isinstance":
        return False
    return any(
        page.is_tensor(each) and not isinstance(page.parent(each), cst.Attribute)
        for each in everything(test)
    ) or any(".item()" in page.code(each) for each in below(test, cst.Call))
