"""Pieces of syntax that a rewriting puts in, and how it finds its way in what is there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from onnxpert.capture.written.leaving import PREFIX, loaded

FLOW = f"{PREFIX}flow"  # the global name by which rewritten code knows who to call
_NUMBERS = frozenset(
    {
        "int",
        "float",
        "bool",
        "min",
        "max",
        "abs",
        "sum",
        "any",
        "all",
        "sorted",
        "getattr",
        "map",
        "filter",
    }
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def is_choice(node: ast.AST) -> bool:
    """`held[place]`, where the place may be a number that only a run knows; or `held.get(place)`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    if isinstance(node.slice, ast.UnaryOp):
        return not isinstance(node.slice.operand, ast.Constant)
    return not isinstance(node.slice, (ast.Constant, ast.Slice, ast.Tuple))


def is_search(node: ast.AST) -> bool:
    """`held.count(k)` and `held.index(k)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("count", "index") and len(node.args) == 1 and not node.keywords


def is_cutting(node: ast.AST) -> bool:
    """`x.split(2)`, `torch.chunk(x, 3)`, `x.unbind(1)`: as many pieces as a size says."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("split", "chunk", "unbind") and bool(node.args)


def is_first(node: ast.Call) -> bool:
    """`next((x for x in xs), other)`."""
    if not isinstance(node.func, ast.Name) or node.func.id != "next" or node.keywords:
        return False
    return len(node.args) == 2 and isinstance(node.args[0], ast.GeneratorExp)


def is_unzipping(node: ast.Call) -> bool:
    """`zip(*rows)`."""
    if not isinstance(node.func, ast.Name) or node.func.id != "zip" or node.keywords:
        return False
    return len(node.args) == 1 and isinstance(node.args[0], ast.Starred)


def is_part(node: ast.Subscript) -> bool:
    """`held[start:stop]`, where an end may be a number that only a run knows."""
    if not isinstance(node.slice, ast.Slice) or not isinstance(node.ctx, ast.Load):
        return False
    ends = (node.slice.lower, node.slice.upper)
    return any(end is not None and not isinstance(end, ast.Constant) for end in ends)


def is_number(node: ast.AST) -> bool:
    """`int(held)` or `min(held, 2)`: a number of Python's own, made of one that only a run knows; or
    a text of one, `"layer_%d" % k`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NUMBERS
    )


def is_number_itself(node: ast.AST) -> bool:
    """`True`, `False`, `0`: what a number that only a run knows may be, and its symbol is not."""
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int))


def called(method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(loaded(FLOW), method, ast.Load()), list(args), [])


def function_of(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(arguments([]), value)


def arguments(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def define(name: str, body: list[ast.stmt], names: Sequence[str] = ()) -> ast.FunctionDef:
    made = ast.FunctionDef(name, arguments(names), body, [])
    made.type_params = []  # type: ignore[attr-defined]
    return made


def nonlocal_(names: Sequence[str]) -> list[ast.stmt]:
    return [ast.Nonlocal(list(names))] if names else []


def placed(statements: list[ast.stmt], at: ast.AST) -> list[ast.stmt]:
    """On the line of what they stand for; what comes from the user's own code keeps its own."""
    for one in statements:
        for part in ast.walk(one):
            if "lineno" in part._attributes and not hasattr(part, "lineno"):
                ast.copy_location(part, at)
                # To Python the call of a method is where its name ends: let that be the first line.
                part.end_lineno, part.end_col_offset = part.lineno, part.col_offset  # type: ignore[attr-defined]
    return statements


def own(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What stands in a function and not in one inside it."""
    for one in statements:
        yield one
        if not isinstance(one, _FUNCTIONS):
            yield from own(ast.iter_child_nodes(one))
