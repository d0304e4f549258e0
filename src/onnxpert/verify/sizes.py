"""Sizes as a file writes them: names, and small arithmetic over names."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import TypeAlias

Exact: TypeAlias = Fraction | int

_OPERATORS: dict[type[ast.operator], Callable[[Exact, Exact], Exact]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: lambda a, b: Fraction(a) / Fraction(b),
}
# As Python, numpy and sympy spell them; the last is how torch prints its own.
_FUNCTIONS: dict[str, Callable[..., Exact]] = {
    "max": max,
    "min": min,
    "floor": math.floor,
    "ceiling": math.ceil,
    "ceil": math.ceil,
    "mod": operator.mod,
    "pythonmod": operator.mod,
    "floordiv": operator.floordiv,
    "cleandiv": operator.floordiv,
}


def symbols(dim: str) -> tuple[str, ...]:
    """The names a dimension depends on. One that is no arithmetic is a name as a whole: some
    exporters write `input.1_dynamic_axes_1`."""
    tree = _parsed(dim)
    if tree is None:
        return (dim,)
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions]
    return tuple(dict.fromkeys(name.id for name in sorted(names, key=lambda n: n.col_offset)))


def evaluate(dim: int | str, sizes: Mapping[str, int]) -> int:
    """The size of a dimension; KeyError for an unknown name, ValueError when it is no whole size."""
    if isinstance(dim, int):
        return dim
    tree = _parsed(dim)
    if tree is None:
        return sizes[dim]
    try:
        size = _value(tree, sizes)
    except ZeroDivisionError as error:
        raise ValueError(f"{dim} divides by zero") from error
    if size != int(size):
        raise ValueError(f"{dim} is {size}")
    return int(size)


def solve(seen: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The size of each name, from dimensions and the sizes they have in the example.

    A name that only occurs together with another unknown one is left out."""
    found: dict[str, int] = {}
    # Plain names first: they need no search, and expressions may build on them.
    for dim, size in sorted(seen, key=lambda pair: _parsed_depth(pair[0])):
        unknown = [name for name in symbols(dim) if name not in found]
        if len(unknown) == 1:
            answer = _search(dim, size, unknown[0], found)
            if answer is not None:
                found[unknown[0]] = answer
    return found


def _search(dim: str, size: int, name: str, known: Mapping[str, int]) -> int | None:
    if dim == name:
        return size
    for candidate in range(4 * size + 64):
        try:
            if evaluate(dim, {**known, name: candidate}) == size:
                return candidate
        except (KeyError, ValueError):
            continue
    return None


def _parsed_depth(dim: str) -> int:
    tree = _parsed(dim)
    return 1 if tree is None else sum(1 for _ in ast.walk(tree))


@cache
def _parsed(dim: str) -> ast.expr | None:
    try:
        tree = ast.parse(dim, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if _is_arithmetic(tree) else None


def _is_arithmetic(node: ast.expr) -> bool:
    match node:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return type(value) is int
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_arithmetic(operand)
        case ast.BinOp(left=left, op=op, right=right):
            known = type(op) in _OPERATORS or isinstance(op, ast.Pow)
            return known and _is_arithmetic(left) and _is_arithmetic(right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return name.lower() in _FUNCTIONS and all(map(_is_arithmetic, args))
    return False


def _value(node: ast.expr, sizes: Mapping[str, int]) -> Exact:
    match node:
        case ast.Name(id=name):
            return sizes[name]
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(operand=operand):
            return -_value(operand, sizes)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, sizes), _value(right, sizes))
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name.lower()](*(_value(arg, sizes) for arg in args))
    raise ValueError(ast.unparse(node))


def _power(base: Exact, exponent: Exact) -> Exact:
    if exponent != int(exponent) or not 0 <= exponent <= 16:
        raise ValueError(f"the exponent {exponent} is out of range")
    return base ** int(exponent)
