"""A function with another line in the place of the one that raised."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from onnxpert.capture.stepping.stand_ins import NAME

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip


class Spot(NamedTuple):
    """Of the instruction that raised: lines from 1, columns in bytes from 0, as `ast` has them."""

    line: int
    end_line: int
    column: int
    end_column: int


def refuses_at(function: ast.FunctionDef, spot: Spot) -> bool:
    """Whether it is a line of the author's that raises, and no accident of another one."""
    return isinstance(_statement(function, spot), (ast.Raise, ast.Assert))


def without(function: ast.FunctionDef, spot: Spot) -> ast.FunctionDef | None:
    """None where nothing is known that could stand there."""
    made = copy.deepcopy(function)
    statement = _statement(made, spot)
    if isinstance(statement, (ast.Raise, ast.Assert)):
        _put(made, statement, _other_way(made, statement))
        return made
    if statement is None:
        return None
    parents = {child: node for node in ast.walk(statement) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(statement):
        if not isinstance(node, ast.expr) or _spot(node) != spot:
            continue
        above = parents.get(node)
        is_name = isinstance(node, ast.Attribute) and getattr(above, "func", None) is node
        old = above if is_name and isinstance(above, ast.Call) else node
        new = _stand_in(old, of_a_name=old is above)
        if new is not None:
            return _Swap(old, new).visit(made)  # type: ignore[no-any-return]
    return _with_parts(made, statement, spot)


def _stand_in(node: ast.expr, *, of_a_name: bool) -> ast.expr | None:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or _is_ours(node):
        return None
    made = None
    match node:
        case ast.Call(ast.Attribute(owner, name), args, named) if of_a_name:
            made = _asked("method", node, [owner, ast.Constant(name), *args], named)
        case ast.Call(function, args, named):
            made = _asked("called", node, [function, *args], named)
        case ast.Subscript(held, key) if not any(map(_is_slice, ast.walk(key))):
            made = _asked("item", node, [held, key])
        case ast.Attribute(owner, name):
            made = _asked("attribute", node, [owner, ast.Constant(name)])
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
            made = _asked("binary", node, [ast.Constant(_OPERATORS[type(sign)]), left, right])
        case ast.Name():
            made = _latest(node)
    return made


def _is_slice(node: ast.AST) -> bool:
    return isinstance(node, ast.Slice)


def _asked(
    what: str, instead_of: ast.AST, given: list[Any], named: list[ast.keyword] | None = None
) -> ast.expr:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), what, ast.Load())
    made = ast.Call(function, given, named or [])
    for node in (made, function, function.value):
        ast.copy_location(node, instead_of)
    return made


def _is_ours(node: ast.expr, what: str = "") -> bool:
    """Whether it was put here before: what it stands for is as little known as it was then."""
    function = node.func if isinstance(node, ast.Call) else node
    value = function.value if isinstance(function, ast.Attribute) else function
    is_asked = not what or (isinstance(function, ast.Attribute) and function.attr == what)
    return is_asked and isinstance(value, ast.Name) and value.id == NAME


def _with_parts(
    function: ast.FunctionDef, statement: ast.stmt, spot: Spot
) -> ast.FunctionDef | None:
    """`a, b, c = x.shape` with as many as there are names."""
    if not isinstance(statement, ast.Assign) or _is_ours(statement.value, "parts"):
        return None
    target = next((each for each in statement.targets if _spot(each) == spot), None)
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    if any(isinstance(each, ast.Starred) for each in target.elts):
        return None
    count = ast.Constant(len(target.elts))
    statement.value = _asked("parts", statement.value, [statement.value, count])
    return function


def _other_way(function: ast.FunctionDef, refusal: ast.stmt) -> list[ast.stmt]:
    """What is done for the examples that are not refused, where the source says what that is."""
    nothing: list[ast.stmt] = [ast.copy_location(ast.Pass(), refusal)]
    if isinstance(refusal, ast.Assert):
        return nothing
    block, above = next(
        (block, node) for node in ast.walk(function) for block in _blocks(node) if refusal in block
    )
    # `if a: return ...` and then `raise`: one of the ways that are known.
    before = [each for each in block[: block.index(refusal)] if isinstance(each, ast.If)]
    ways = [each.body for each in before if isinstance(each.body[-1], ast.Return)]
    if isinstance(above, ast.If):
        ways.append(above.body if block is above.orelse else above.orelse)
    if isinstance(above, ast.match_case):
        matches = (each for each in ast.walk(function) if isinstance(each, ast.Match))
        cases = next(each.cases for each in matches if above in each.cases)
        ways += [each.body for each in cases if each is not above]
    known = [way for way in ways if way and not isinstance(way[-1], ast.Raise)]
    if known:
        return copy.deepcopy(known[-1])
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    inside = [loop for loop in loops if any(node is refusal for node in ast.walk(loop))]
    if (
        inside
        and isinstance(inside[-1], ast.While)
        and not isinstance(inside[-1].test, ast.Constant)
    ):
        # Whoever tries again and again until it raises would go on for ever.
        return [ast.copy_location(ast.Break(), refusal)]
    if above is function or (inside and isinstance(inside[-1], ast.While)):  # there is no other end
        return [ast.copy_location(ast.Return(_latest(refusal)), refusal)]
    return nothing


def _latest(at: ast.AST) -> ast.expr:
    known = ast.Call(ast.Name("locals", ast.Load()), [], [])
    return _asked("variable", at, [known])


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value


def _put(function: ast.FunctionDef, old: ast.stmt, new: list[ast.stmt]) -> None:
    for node in ast.walk(function):
        for block in _blocks(node):
            if old in block:
                place = block.index(old)
                block[place : place + 1] = new
                return


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else self.generic_visit(node)


def _statement(function: ast.FunctionDef, spot: Spot) -> ast.stmt | None:
    """The innermost that the line is in."""
    around: Mapping[tuple[int, int], ast.stmt] = {
        (node.lineno, -(node.end_lineno or node.lineno)): node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node.lineno <= spot.line <= (node.end_lineno or 0)
    }
    return around[max(around)] if around else None


def _spot(node: ast.expr) -> Spot:
    return Spot(
        node.lineno, node.end_lineno or node.lineno, node.col_offset, node.end_col_offset or 0
    )
