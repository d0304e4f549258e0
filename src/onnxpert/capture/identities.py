"""`flag is True`, `case True`, `case int()` and `k.__class__` of what only a run of the file knows.

Its symbol is neither of these, and Python would take the other way without asking. The functions of
the user's that say so are compiled once more for the time of a capture, with a question there."""

from __future__ import annotations

import ast
import dis
import functools
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any

import torch

from onnxpert.capture.kinds import same
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.leaving import PREFIX, loaded
from onnxpert.capture.written.matching import Matching
from onnxpert.capture.written.recompiling import recompiled
from onnxpert.capture.written.swapping import swapped
from onnxpert.capture.written.syntax import is_number_itself
from onnxpert.core.belongings import user_modules
from onnxpert.core.source import Owner, ownership

logger = logging.getLogger(__name__)
_SAME = f"{PREFIX}same"
_OPERATIONS = {dis.opmap[name] for name in ("IS_OP", "MATCH_CLASS") if name in dis.opmap}


def own_identities(root: torch.nn.Module | None) -> AbstractContextManager[None]:
    """While on, the user's functions ask which of the two it is."""
    functions = [] if root is None else list(_functions(root))
    new = {one: code for one in functions if (code := _new_code(one.__code__)) is not None}
    return swapped(new, same, _SAME)


def _functions(root: torch.nn.Module) -> Iterator[FunctionType]:
    for module in user_modules(root):
        for value in list(vars(module).values()):
            held = list(vars(value).values()) if isinstance(value, type) else [value]
            for one in held:
                function = getattr(one, "__func__", one)
                function = getattr(function, "__wrapped__", function)
                if isinstance(function, FunctionType) and _is_the_models(function.__code__):
                    yield function


def _is_the_models(code: CodeType) -> bool:
    """Not torch's or Python's, whose classes are among the names that a file imports."""
    return ownership(code.co_filename) >= Owner.LIBRARY


@functools.lru_cache(2048)
def _new_code(code: CodeType) -> CodeType | None:
    if not _may_compare(code):
        return None
    try:
        return recompiled(code, _asking)
    except (UnwritableError, SyntaxError, OSError, TypeError, ValueError):
        logger.debug("%s stays as it is", code.co_qualname, exc_info=True)
        return None


def _may_compare(code: CodeType) -> bool:
    if "__class__" in code.co_names or not _OPERATIONS.isdisjoint(code.co_code[::2]):
        return True
    return any(_may_compare(one) for one in code.co_consts if isinstance(one, CodeType))


def _asking(function: ast.FunctionDef) -> ast.FunctionDef | None:
    if not any(map(_compares, ast.walk(function))):
        return None
    if any(isinstance(part, (ast.MatchSingleton, ast.MatchClass)) for part in ast.walk(function)):
        Matching(iter(range(10**9))).visit(function)
    _Questions().visit(function)
    return ast.fix_missing_locations(function)


def _compares(part: ast.AST) -> bool:
    if isinstance(part, ast.MatchSingleton):
        return part.value is not None
    if isinstance(part, ast.MatchClass):
        return isinstance(part.cls, ast.Name) and part.cls.id in ("int", "float", "bool")
    return _is_class(part) or (isinstance(part, ast.Compare) and _is_identity(part))


def _is_class(part: ast.AST) -> bool:
    """`k.__class__`, which is `type(k)`."""
    if not isinstance(part, ast.Attribute) or part.attr != "__class__":
        return False
    return isinstance(part.ctx, ast.Load) and getattr(part.value, "id", "") != "self"


def _is_identity(node: ast.Compare) -> bool:
    alone = len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot))
    return alone and is_number_itself(node.comparators[0])


class _Questions(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        found = ast.Call(loaded("type"), [node.value], [])
        return ast.copy_location(found, node) if _is_class(node) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if not _is_identity(node):
            return node
        asked: ast.expr = ast.Call(loaded(_SAME), [node.left, node.comparators[0]], [])
        if isinstance(node.ops[0], ast.IsNot):
            asked = ast.UnaryOp(ast.Not(), asked)
        return ast.copy_location(asked, node)
