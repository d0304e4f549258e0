"""Statements that are for whoever runs the model in Python, kept out of its exports."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page

_GUARD = "not torch.compiler.is_exporting()"


def guarded(page: Page, statement: cst.SimpleStatementLine | cst.If) -> Iterator[Change]:
    """The statement under that condition, unless it is there already."""
    block = page.parent(statement)
    around = page.parent(block) if block is not None else None
    is_guarded = isinstance(around, cst.If) and page.code(around.test) == _GUARD
    if is_guarded or not isinstance(block, cst.IndentedBlock):  # or an `elif`
        return
    inner = statement.with_changes(leading_lines=[])
    yield statement, cst.If(page.expression(_GUARD), cst.IndentedBlock([inner]))
