"""What the source says at a place, and where it says a thing: read as a tree, never run."""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
from collections.abc import Iterator, Mapping
from enum import StrEnum, auto
from typing import Any, NamedTuple

from onnxpert.core.syntax import nodes_of, parents_of, tree_of
from onnxpert.core.types import Location


class Statement(StrEnum):
    """What the answer decides."""

    IF = auto()
    WHILE = auto()
    ASSERT = auto()


_KINDS: dict[type[ast.AST], Statement] = {
    ast.If: Statement.IF,
    ast.IfExp: Statement.IF,
    ast.While: Statement.WHILE,
    ast.Assert: Statement.ASSERT,
}


@functools.lru_cache(maxsize=4096)  # a line is asked about as often as it runs
def statement(place: Location) -> Statement | None:
    """The statement whose condition stands at a place; None where it is no condition's line."""
    found: Statement | None = None
    for node in nodes_of(place.file):
        test = getattr(node, "test", None) if type(node) in _KINDS else None
        if isinstance(test, ast.expr) and _covers(test, place):
            found = _KINDS[type(node)]  # the walk goes inwards: the last is the innermost
        filters = node.ifs if isinstance(node, ast.comprehension) else []
        if any(_holds(test, place) for test in filters):
            found = Statement.IF
    return found


def goes_through(place: Location) -> bool:
    """Whether a loop or a comprehension at a place goes through one thing, item by item."""
    return any(
        isinstance(node, (ast.For, ast.comprehension))
        and _covers(node.iter, place)
        and not (isinstance(node.iter, ast.Call) and _called(node.iter.func) == "zip")
        for node in nodes_of(place.file)
    )


def begins_loop(place: Location | None) -> bool:
    """Whether a line is the head of a `for`: what ends that before its time is decided further in."""
    return place is not None and any(
        isinstance(node, ast.For) and node.lineno == place.line for node in nodes_of(place.file)
    )


def leads_elsewhere(place: Location, answer: bool) -> bool:
    """Whether the condition at a place, answered the other way, leads to code that does something: a
    side that only raises does not."""
    for node in nodes_of(place.file):
        test = getattr(node, "test", None) if type(node) in _KINDS else None
        if not isinstance(test, ast.expr) or not _covers(test, place):
            continue
        if isinstance(node, ast.IfExp):
            return any(
                isinstance(each, ast.Call)
                for each in ast.walk(node.orelse if answer else node.body)
            )
        if isinstance(node, ast.If) and answer and not node.orelse:
            return isinstance(node.body[-1], (ast.Return, ast.Continue, ast.Break))
        if isinstance(node, ast.If):
            side = node.orelse if answer else node.body
            return not all(isinstance(each, (ast.Raise, ast.Pass)) for each in side)
        return isinstance(node, ast.While) and not answer
    return False


class Refusing(NamedTuple):
    """A side of an `if` that does nothing but raise."""

    when: bool  # the answer that leads to it
    raises: str


def refuses(place: Location) -> Refusing | None:
    """What is raised on a side of the `if` whose condition stands at a place, if a side only raises."""
    found: Refusing | None = None
    for node in nodes_of(place.file):
        if not isinstance(node, ast.If) or not _covers(node.test, place):
            continue
        sides = ((True, node.body), (False, node.orelse))
        ends = ((when, side[-1]) for when, side in sides if side and not side[:-1])
        found = next((Refusing(when, _raised(end)) for when, end in ends if _raised(end)), None)
    return found


def _raised(end: ast.stmt) -> str:
    """`ValueError: no box` of `raise ValueError("no box")`."""
    if not isinstance(end, ast.Raise) or end.exc is None:
        return ""
    call = end.exc
    if not isinstance(call, ast.Call):
        return ast.unparse(call)
    said = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
    return (
        f"{ast.unparse(call.func)}: {said}"
        if isinstance(said, str) and said
        else ast.unparse(call.func)
    )


def _holds(test: ast.expr, place: Location) -> bool:
    """Whether a place is within an expression of which its line may hold only a part."""
    return (
        _covers(test, place)
        and test.lineno == place.line
        and test.col_offset < place.column <= (test.end_col_offset or 0)
    )


def raises(place: Location) -> bool:
    """Whether the place is within a `raise`, or the message of an `assert`: it ends there anyway."""
    for node in nodes_of(place.file):
        if isinstance(node, ast.Raise) and _covers(node, place):
            return True
        if isinstance(node, ast.Assert) and node.msg is not None and _covers(node.msg, place):
            return True
    return False


_TELLING = frozenset({"print", "debug", "info", "warning", "error", "log", "write"})
_COMPUTING = frozenset({"torch", "math", "np", "numpy"})  # with a `log` of their own


def _tells(call: ast.Call) -> bool:
    """`torch.log(x)` and `x.log()` do not."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    computes = isinstance(owner, ast.Name) and owner.id in _COMPUTING
    return _called(call.func) in _TELLING and bool(call.args) and not computes


def called_at(place: Location | None) -> str:
    """The name of the function whose call stands at a place."""
    found = _expression(place) if place is not None else None
    return _called(found.func) if isinstance(found, ast.Call) else ""


_SORTING = frozenset(
    {"sorted", "sort", "heapify", "heappop", "heappush", "heappushpop", "heapreplace"}
)


def sorts(place: Location | None) -> bool:
    """Whether a list is put in order at a place, which asks as many questions as it has to."""
    return called_at(place) in _SORTING


def subscripted(place: Location) -> ast.expr | None:
    """What one thing is taken out of at a place, `layers` of `layers[k]`."""
    found = _expression(place)
    one = isinstance(found, ast.Subscript) and not isinstance(found.slice, ast.Slice)
    return found.value if one else None  # type: ignore[union-attr]


def is_told(place: Location) -> bool:
    """Whether a place is within a call that tells somebody something: `print(...)`, `log.info(...)`."""
    return any(
        isinstance(node, ast.Call) and _tells(node) and _covers(node, place)
        for node in nodes_of(place.file)
    )


def is_message(place: Location) -> bool:
    """Whether a text that is made at a place only goes to `print`, a log or an exception, by a name too."""
    if raises(place) or is_told(place):
        return True
    uses = _uses_of_text(place)
    return bool(uses) and all(raises(use) or is_told(use) for use in uses)


# What makes something else of a text than another one.
_READING = frozenset({"hash", "len", "int", "float", "ord"})
_DIGESTED = frozenset({"encode"})


def is_decided_by(place: Location) -> bool:
    """Whether a text that is made at a place, or the name it is given there, decides something: it is
    compared with another, read, or what something is kept under."""
    places = (place, *_uses_of_text(place))
    return any(
        any(_is_within(one, use) for one in places)
        for node in nodes_of(place.file)
        if (use := _use_of_text(node)) is not None
    )


def _use_of_text(node: ast.AST) -> ast.expr | None:
    """What a text decides with, of an expression that decides something with it."""
    if isinstance(node, ast.Compare):
        return node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READING:
        return node.args[0] if node.args else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _DIGESTED else None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.slice
    return None


def _is_within(place: Location, node: ast.expr) -> bool:
    """Whether a place is inside of an expression, as far as its columns are known."""
    if not _covers(node, place) or isinstance(node, ast.Compare):
        return _covers(node, place)
    return place.end_column > 0 and any(
        isinstance(each, ast.expr)
        and (each.lineno, each.col_offset + 1) == (place.line, place.column)
        for each in ast.walk(node)
    )


def _uses_of_text(place: Location) -> list[Location]:
    """Where the name is read that is given what is made at a place."""
    above = parents_of(place.file)
    return [
        _at(place.file, use, place.module, place.function)
        for node in nodes_of(place.file)
        if isinstance(node, ast.Assign) and _covers(node, place)
        if isinstance(node.targets[0], ast.Name)
        for use in _uses(node, node.targets[0].id, above)
    ]


def handed_on(place: Location) -> Iterator[tuple[ast.expr, Location]]:
    """The calls that are given what is made at a place, by the name that it gets there: what is called,
    and where. In the order of the lines."""
    lines = {use.line for use in _uses_of_text(place) if use.line > place.line}
    names = {
        node.targets[0].id
        for node in nodes_of(place.file)
        if isinstance(node, ast.Assign) and _covers(node, place)
        if isinstance(node.targets[0], ast.Name)
    }
    calls = [node for node in nodes_of(place.file) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        inside = [each for given in call.args for each in ast.walk(given)]
        given = (each for each in inside if isinstance(each, ast.Name) and each.id in names)
        if any(each.lineno in lines for each in given):
            yield call.func, _at(place.file, call, place.module, place.function)


def is_only_computed(place: Location) -> bool:
    """Whether a number that is taken at a place goes into arithmetic or a message and nowhere else:
    there a graph can have it as it is."""
    taken = _expression(place)
    # `int(x)` is a number of Python's at once; what `.item()` gives may stay a symbol.
    is_item = isinstance(taken, ast.Call) and _called(taken.func) == "item"
    return taken is not None and is_item and _is_operand(taken, parents_of(place.file))


def _expression(place: Location) -> ast.expr | None:
    for node in nodes_of(place.file):
        if isinstance(node, ast.expr) and node.lineno == place.line:
            start, end = node.col_offset + 1, (node.end_col_offset or 0) + 1
            if (start, end) == (place.column, place.end_column):
                return node
    return None


def _is_operand(taken: ast.expr, above: Mapping[ast.AST, ast.AST]) -> bool:
    parent, bare = above.get(taken), True
    while isinstance(parent, (ast.BinOp, ast.UnaryOp)):
        taken, parent, bare = parent, above.get(parent), False
    if isinstance(parent, (ast.FormattedValue, ast.Return, ast.AugAssign)):
        return True
    if isinstance(parent, ast.Call) and taken in parent.args:
        return _called(parent.func) in _TELLING or _is_torchs(parent.func)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
        return True  # it is kept, which is told by itself
    if not (isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name)):
        return False
    uses = _uses(parent, parent.targets[0].id, above)
    if not bare:  # with a tensor in it, it is one, of which anything may be done
        return not any(_is_demanded(use, above) for use in uses)
    name = parent.targets[0].id
    return all(name != _target(above, use) and _is_operand(use, above) for use in uses)


def _uses(assigned: ast.stmt, name: str, above: Mapping[ast.AST, ast.AST]) -> list[ast.Name]:
    scope: ast.AST | None = assigned
    while scope is not None and not isinstance(scope, ast.FunctionDef):
        scope = above.get(scope)
    found = (node for node in ast.walk(scope or assigned) if isinstance(node, ast.Name))
    return [node for node in found if node.id == name and isinstance(node.ctx, ast.Load)]


def _is_demanded(use: ast.expr, above: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether nothing but a number of Python's own will do: an index, what `range` is given."""
    parent = above.get(use)
    while isinstance(parent, (ast.BinOp, ast.UnaryOp)):
        use, parent = parent, above.get(parent)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return use in parent.args and parent.func.id in vars(builtins)
    return isinstance(parent, ast.Subscript) and parent.slice is use


def _target(above: Mapping[ast.AST, ast.AST], use: ast.expr) -> str:
    """The name that a use is assigned to again, which would go round and round."""
    node: ast.AST | None = use
    while node is not None and not isinstance(node, ast.stmt):
        node = above.get(node)
    targets = _targets(node) if node is not None else []
    return targets[0].id if targets and isinstance(targets[0], ast.Name) else ""


def _is_torchs(function: ast.expr) -> bool:
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in ("torch", "F", "functional")


def _called(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _covers(test: ast.expr | ast.stmt, place: Location) -> bool:
    return test.lineno <= place.line <= (test.end_lineno or test.lineno)


_CHANGING = frozenset(
    {
        "append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add",
        "discard", "popitem", "appendleft", "popleft", "reverse", "sort",
    }
)  # fmt: skip


def write_of(
    file: str,
    name: str,
    module: str = "",
    inside: str = "",
    *,
    attribute: bool = False,
    filled: bool = False,
) -> Location | None:
    """The first place in a function where a variable, or an attribute of that name, is written or
    changed; `inside` is the class to look in, `filled` leaves out where it is bound to a new value."""
    tree = tree_of(file)
    for function in _functions(tree, inside) if tree is not None else ():
        if function.name == "__init__":
            continue
        for node in ast.walk(function):
            if filled and any(map(_binds, _targets(node))) and not isinstance(node, ast.Call):
                continue
            wanted = attribute or bool(inside)
            if any(_names(target, name, attribute=wanted) for target in _targets(node)):
                return _at(file, node, module, function.name)
    return None


def _binds(target: ast.expr) -> bool:
    return isinstance(target, (ast.Name, ast.Attribute))


def _functions(tree: ast.AST, inside: str) -> list[ast.FunctionDef]:
    scope = tree
    if inside:
        last = inside.rpartition(".")[2]
        found = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == last]
        scope = found[0] if found else tree
    return [node for node in ast.walk(scope) if isinstance(node, ast.FunctionDef)]


def _targets(node: ast.AST) -> list[ast.expr]:
    """What a statement or call writes to."""
    if isinstance(node, ast.Assign):
        return [each for target in node.targets for each in _apart(target)]
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return [node.target]
    if isinstance(node, ast.Delete):
        return node.targets
    changes = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if changes and node.func.attr in _CHANGING:  # type: ignore[attr-defined]
        return [node.func.value]  # type: ignore[attr-defined]
    return []


def _apart(target: ast.expr) -> list[ast.expr]:
    """The targets of `a, self.b = ...`, one by one."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [each for part in target.elts for each in _apart(part)]
    return [target]


def _names(target: ast.expr, name: str, *, attribute: bool) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
    if attribute:
        return isinstance(target, ast.Attribute) and target.attr == name
    return isinstance(target, ast.Name) and target.id == name


def _at(file: str, node: Any, module: str, function: str) -> Location:
    text = linecache.getline(file, node.lineno)
    end = node.end_col_offset if node.end_lineno == node.lineno else len(text.rstrip())
    return Location(file, node.lineno, module, function, text.strip(), node.col_offset + 1, end + 1)
