"""`print` and logging in forward, left out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, dotted, small

_LOGGERS = frozenset({"logging", "logger", "log", "_logger", "_log", "warnings"})
_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "log"})


@codemod("stop-printing", cures=("STA306",))
def stop_printing(page: Page) -> Iterator[Change]:
    """The file prints nothing, and a value that is printed has to be taken out of its tensor."""
    for branch in page.each(cst.If):
        whole = isinstance(page.parent(branch), cst.IndentedBlock) and branch.orelse is None
        if whole and all(map(_prints, small(branch.body))) and page.has_run(branch):
            yield branch, None
    for node in page.each(cst.Expr):
        if _prints(node) and page.has_run(node):
            yield node, None


def _prints(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
        return False
    owner, _, last = dotted(node.value.func).rpartition(".")
    logged = owner.rpartition(".")[2].lower() in _LOGGERS and last in _LEVELS
    return logged or (not owner and last == "print")
