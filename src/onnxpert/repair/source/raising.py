"""Errors that a file raises, and the places in it that catch them."""

from __future__ import annotations

import builtins

import libcst as cst

from onnxpert.repair.source.page import Page, dotted, elements


def raised(node: cst.CSTNode) -> str:
    """The name of the error that a statement raises, "" for any other statement."""
    error = node.exc if isinstance(node, cst.Raise) else None
    return dotted(error.func if isinstance(error, cst.Call) else error)


def catchers(page: Page, error: str) -> list[cst.Try]:
    """The `try` statements of the file, in functions, that would catch it: who calls whom is not asked."""
    return [
        each
        for each in page.each(cst.Try)
        if any(catches(handler, error) for handler in each.handlers)
    ]


def catches(handler: cst.ExceptHandler, error: str) -> bool:
    if handler.type is None:
        return True
    names = map(dotted, elements(handler.type) or [handler.type])
    return any(name == error or _is_kind_of(error, name) for name in names)


def _is_kind_of(error: str, name: str) -> bool:
    one, other = (getattr(builtins, each, None) for each in (error, name))
    if not isinstance(one, type):  # one of the user's own, which may be any kind
        return name in ("Exception", "BaseException")
    return isinstance(other, type) and issubclass(one, other)
