"""What is left early: a loop or a `try`, with the flags that say so."""

from __future__ import annotations

import ast
from dataclasses import dataclass

PREFIX = "_ox_"  # of every name that the rewriting brings in
Statements = list[ast.stmt]


@dataclass(slots=True)
class Around:
    """The loop or the `try` that statements stand in, and how it is left."""

    number: int
    outer: Around | None = None
    caught: ast.expr | None = None  # of a `try`: what it catches
    breaks: bool = False
    continues: bool = False  # of a `try`
    returns: bool = False
    raises: bool = False  # of a loop: to the `try` around it

    def name(self, what: str) -> str:
        return f"{PREFIX}{what}_{self.number}"


def assigned(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))


def loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
