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
    blocks: list[cst.If | cst.For] = [*page.each(cst.If), *page.each(cst.For)]
    for block in blocks:
        whole = isinstance(page.parent(block), cst.IndentedBlock)
        if whole and _prints(block) and page.has_run(block):
            yield block, None
    for node in page.each(cst.Expr):
        if _prints(node) and page.has_run(node):
            yield node, None


def _prints(node: cst.CSTNode) -> bool:
    """Whether a statement does nothing else, whatever is asked or gone through on the way."""
    if isinstance(node, (cst.If, cst.For)):
        return all(map(_prints, (*small(node.body), *small(node.orelse))))
    if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
        return False
    owner, _, last = dotted(node.value.func).rpartition(".")
    logged = owner.rpartition(".")[2].lower() in _LOGGERS and last in _LEVELS
    return logged or (not owner and last == "print")
