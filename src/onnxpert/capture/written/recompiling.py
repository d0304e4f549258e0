"""Code of a function's own source, rewritten: the same name, variables and lines."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable
from types import CodeType
from weakref import WeakKeyDictionary

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.leaving import PREFIX
from onnxpert.core.source import PART

# What code was made of here that is to be rewritten once more: no file has its source.
_SOURCES: WeakKeyDictionary[CodeType, ast.FunctionDef] = WeakKeyDictionary()


def recompiled(
    code: CodeType,
    rewrite: Callable[[ast.FunctionDef], ast.FunctionDef | None],
    *,
    again: bool = False,
) -> CodeType | None:
    """None where there is nothing to rewrite. Raises where the source is not there, or says more
    than a function can. What is made may be rewritten itself where that is said."""
    function = copy.deepcopy(_SOURCES[code]) if code in _SOURCES else _read(code)
    if not isinstance(function, ast.FunctionDef) or function.name != code.co_name:
        return None
    private = any(_is_private(part) for part in ast.walk(function))
    made = rewrite(function)
    if made is None:
        return None
    if private:
        raise UnwritableError("names that Python mangles")
    made.args.defaults = [ast.Constant(None) for _ in made.args.defaults]
    made.args.kw_defaults = [one and ast.Constant(None) for one in made.args.kw_defaults]
    for one in ast.walk(made.args):
        if isinstance(one, ast.arg):
            one.annotation = None
    made.returns = None
    made.decorator_list = []
    source = copy.deepcopy(made) if again else None
    new = _of(made, code)
    if source is not None:
        _SOURCES[new] = source
    return new


def _read(code: CodeType) -> ast.stmt:
    lines, first = inspect.getsourcelines(code)
    return _parsed("".join(lines), first)


def _parsed(source: str, first: int) -> ast.stmt:
    """With the lines and columns that it has in its file."""
    if not source[0].isspace():
        return ast.increment_lineno(ast.parse(source).body[0], first - 1)
    around = ast.parse(f"if True:\n{source}").body[0]
    assert isinstance(around, ast.If)
    return ast.increment_lineno(around.body[0], first - 2)


def _of(made: ast.FunctionDef, code: CodeType) -> CodeType:
    around = ast.parse("def around():\n    pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    free: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in code.co_freevars
    ]
    around.body = [*free, made]
    module = ast.fix_missing_locations(ast.Module([around], []))
    whole = compile(module, code.co_filename, "exec", dont_inherit=True)
    outer = next(one for one in whole.co_consts if isinstance(one, CodeType))
    new = next(
        one for one in outer.co_consts if isinstance(one, CodeType) and one.co_name == code.co_name
    )
    if new.co_freevars != code.co_freevars:
        raise UnwritableError("the function sees other variables")
    return _named(new, code)


def _is_private(part: ast.AST) -> bool:
    name = (
        part.attr
        if isinstance(part, ast.Attribute)
        else part.id
        if isinstance(part, ast.Name)
        else ""
    )
    return name.startswith("__") and not name.endswith("__")


def _named(new: CodeType, old: CodeType) -> CodeType:
    """What was brought in goes by the name of the function it stands in."""
    part = old.replace(co_qualname=f"{old.co_qualname.removesuffix(PART)}{PART}")
    constants = tuple(
        _named(one, part if one.co_name.startswith((PREFIX, "<lambda>")) else one)
        if isinstance(one, CodeType)
        else one
        for one in new.co_consts
    )
    return new.replace(
        co_consts=constants,
        co_name=old.co_name,
        co_qualname=old.co_qualname,
    )
