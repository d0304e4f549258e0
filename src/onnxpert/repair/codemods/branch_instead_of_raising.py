"""An error that is raised and caught in one function is a branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, names_in, small
from onnxpert.repair.source.raising import catches, raised


@codemod("branch-instead-of-raising", cures=("CTL401", "CTL404", "CTL406", "CTL407", "CTL409"))
def branch_instead_of_raising(page: Page) -> Iterator[Change]:
    """An error that a value raises is in no trace; what catches it is the other side of a branch."""
    for tried in page.each(cst.Try):
        plain = len(tried.handlers) == 1 and not (tried.orelse or tried.finalbody)
        if plain and isinstance(page.parent(tried), cst.IndentedBlock):
            yield from _branched(tried)


def _branched(tried: cst.Try) -> Iterator[Change]:
    (handler,), lines = tried.handlers, list[Any](tried.body.body)
    named = handler.name.name if handler.name else None
    if named is not None and names_in(named) & names_in(handler.body):
        return
    for at, line in enumerate(lines):
        if isinstance(line, cst.If) and line.orelse is None:
            errors = [raised(each) for each in small(line.body)]
            rest = lines[at + 1 :]
            if len(errors) == 1 and errors[0] and catches(handler, errors[0]) and rest:
                other = cst.Else(cst.IndentedBlock(rest))
                new = line.with_changes(body=_headed(handler.body, line.body), orelse=other)
                yield tried, [*lines[:at], new]
            return


def _headed(body: cst.BaseSuite, old: cst.BaseSuite) -> cst.BaseSuite:
    """With the comment behind the colon of the old one, unless it has one of its own."""
    both = isinstance(body, cst.IndentedBlock) and isinstance(old, cst.IndentedBlock)
    if not both or body.header.comment is not None:  # type: ignore[attr-defined]
        return body
    return body.with_changes(header=old.header)  # type: ignore[attr-defined]
