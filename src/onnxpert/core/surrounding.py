"""What stands around a line of the user's: the loop that it is in, the `return` of its function."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator

from onnxpert.core.syntax import nodes_of
from onnxpert.core.types import Location, replace

# Methods that read it as a whole.
_WHOLE = frozenset(dir({})) | frozenset(dir([]))
# Functions that read whatever a function holds.
_NAMES = frozenset({"locals", "vars", "eval", "exec"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@functools.lru_cache(maxsize=4096)  # the calls of a loop are on few lines
def loops_around(file: str, line: int) -> tuple[int, ...]:
    """The lines of the `for`s that a line is in, outermost first, within its function."""
    found: list[int] = []
    for node in nodes_of(file):
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0):
            found.clear()  # the walk goes inwards: what is outside of the function is not in it
        if isinstance(node, ast.For) and node.lineno <= line <= _last(node.body):
            found.append(node.lineno)
        if isinstance(node, ast.comprehension) and node.target.lineno <= line <= _end(node):
            found.append(node.target.lineno)
    return tuple(found)


def _last(body: list[ast.stmt]) -> int:
    return body[-1].end_lineno or body[-1].lineno


def _end(node: ast.comprehension) -> int:
    return node.iter.end_lineno or node.iter.lineno


def is_gone_through(place: Location) -> bool:
    """Whether what a `for` or a comprehension goes through stands on a line."""
    return any(
        isinstance(node, (ast.For, ast.comprehension)) and _holds(node.iter, place.line)
        for node in nodes_of(place.file)
    )


def gone_through(definition: Location | None, name: str) -> Location | None:
    """The first `for` of a function, by the place of its `def`, that goes through a variable."""
    for node in _own(_function(definition) or ast.Pass()):
        looped = node.iter if isinstance(node, (ast.For, ast.comprehension)) else None
        if looped is not None and any(
            isinstance(each, ast.Name) and each.id == name for each in ast.walk(looped)
        ):
            return _at(definition, looped.lineno)
    return None


def uses(definition: Location | None, path: str) -> Iterator[Location]:
    """The lines of a function, by the place of its `def`, that read an argument, or what is reached in
    it by a path: `task`, `options["dt"]`, `config.top`; not those that only ask whether it is there."""
    wanted = ast.dump(ast.parse(path, mode="eval").body) if _is_written(path) else ""
    asked: set[ast.AST] = set()
    lines: dict[int, None] = {}
    for node in _own(_function(definition) or ast.Pass()):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            asked.add(node.left)
        if isinstance(node, ast.expr) and node not in asked and ast.dump(node) == wanted:
            lines[node.lineno] = None
    for line in lines:
        at = _at(definition, line)
        if at is not None:
            yield at


def is_unread(definition: Location | None, path: str) -> bool:
    """Whether a function surely never reads an argument, or what a path leads to in it: all that it does
    with the argument is to take other things out of it."""
    function = _function(definition)
    if function is None or not _is_written(path):
        return False
    inside = list(ast.walk(function))
    steps = [node for node in ast.walk(ast.parse(path, mode="eval")) if _step(node) is not None]
    root = next(node.id for node in ast.walk(ast.parse(path)) if isinstance(node, ast.Name))
    read = [each for each in inside if isinstance(each, ast.Name) and not _deletes(each)]
    given = any(isinstance(each, ast.arg) and each.arg == root for each in inside)
    if not given or any(name.id in _NAMES for name in read):
        return False  # `**options`, `locals()`: nothing says by which name it is read
    names = [name for name in read if name.id == root]
    if not steps:
        return not names
    wanted = _step(steps[-1])  # the walk goes inwards: the last is the first step
    above = {child: node for node in inside for child in ast.iter_child_nodes(node)}
    taken = [_step(above[name]) for name in names]
    return all(one is not None and one != wanted for one in taken)


def _deletes(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Del)


def _step(node: ast.AST) -> str | None:
    """What is taken out of a thing: `"dt"` of `options["dt"]`, `top` of `options.top`."""
    if isinstance(node, ast.Attribute):
        return node.attr if node.attr not in _WHOLE else None
    taken = node.slice if isinstance(node, ast.Subscript) else None
    return repr(taken.value) if isinstance(taken, ast.Constant) else None


def _is_written(path: str) -> bool:
    """Whether a path could stand in a program: one through an object of torch's own may not."""
    try:
        ast.parse(path, mode="eval")
    except SyntaxError:
        return False
    return True


def returned(definition: Location | None, line: int = 0) -> Location | None:
    """Where the function that is defined at a place returns: at the line where it was seen to, at the
    only one that there is, else the place itself."""
    if definition is not None and line:
        return _at(definition, line)
    function = _function(definition)
    own = _own(function) if function is not None else ()
    lines = [each.lineno for each in own if isinstance(each, ast.Return)]
    return _at(definition, lines[0]) if len(lines) == 1 else definition


def returns_on_a_side(place: Location) -> bool:
    """Whether a function may be left on a side of the `if` or the loop whose condition stands at a place."""
    return any(
        isinstance(node, ast.Return)
        for around in nodes_of(place.file)
        if isinstance(around, (ast.If, ast.While)) and _holds(around.test, place.line)
        for node in ast.walk(around)
    )


def stands_in_for(place: Location | None) -> str:
    """The argument that a line makes up where nobody gives it: `noise`, below `if noise is None:`."""
    if place is None:
        return ""
    arguments: set[str] = set()
    found = ""
    for node in nodes_of(place.file):
        if not isinstance(node, (*_FUNCTIONS, ast.If)) or not _holds(node, place.line):
            continue
        if isinstance(node, ast.If):
            missing = next((one for one in arguments if _asks_for(node.test, one)), "")
            found = missing if any(_makes(one, missing, place) for one in node.body) else found
        else:  # the walk goes inwards: what is outside of the function is not in it
            given = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.arguments)]
            arguments = {one.arg for every in given for one in (*every.args, *every.kwonlyargs)}
            found = ""
    return found


def is_decided_at(line: Location | None, place: Location | None) -> bool:
    """Whether a line is on a side of the `if` whose condition stands at a place."""
    if line is None or place is None or line.file != place.file:
        return False
    return any(
        _holds(side, line.line)
        for node in nodes_of(place.file)
        if isinstance(node, ast.If) and _holds(node.test, place.line)
        for side in (*node.body, *node.orelse)
    )


def _holds(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _asks_for(test: ast.expr, name: str) -> bool:
    return ast.unparse(test) in (f"{name} is None", f"not {name}")


def _makes(statement: ast.stmt, name: str, place: Location) -> bool:
    if not isinstance(statement, ast.Assign) or not _holds(statement, place.line):
        return False
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


def _function(definition: Location | None) -> ast.AST | None:
    if definition is None:
        return None
    for node in nodes_of(definition.file):
        if isinstance(node, ast.FunctionDef) and node.lineno == definition.line:
            return node
    return None


def _at(definition: Location | None, line: int) -> Location | None:
    if definition is None:
        return None
    code = linecache.getline(definition.file, line).strip()
    return replace(definition, line=line, code=code)  # type: ignore[no-any-return]


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """What is written in a function, and not in one inside of it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _own(child)
