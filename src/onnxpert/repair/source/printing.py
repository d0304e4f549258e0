"""Statements that print or log, and nothing else."""

from __future__ import annotations

import libcst as cst

from onnxpert.repair.source.page import Page, dotted, small

_LOGGERS = frozenset({"logging", "logger", "log", "_logger", "_log", "warnings"})
_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "log"})


def prints(node: cst.CSTNode) -> bool:
    """Whether a statement does nothing else, whatever is asked or gone through on the way."""
    if isinstance(node, (cst.If, cst.For)):
        return all(map(prints, (*small(node.body), *small(node.orelse))))
    if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
        return False
    owner, _, last = dotted(node.value.func).rpartition(".")
    logged = owner.rpartition(".")[2].lower() in _LOGGERS and last in _LEVELS
    return logged or (not owner and last == "print")


def is_printed(page: Page, node: cst.CSTNode) -> bool:
    """Whether an expression is in such a statement, where a tensor would read otherwise than its number."""
    found: cst.CSTNode | None = node
    while found is not None and not isinstance(found, cst.BaseSmallStatement):
        found = page.parent(found)
    return found is not None and prints(found)
