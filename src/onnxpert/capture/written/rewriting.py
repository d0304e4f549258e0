"""A function with its `if`, `for` and `while` made calls.

They are told what to do and with which variables; whoever is called decides whether to do it as Python
does or to write it down whole."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from onnxpert.capture.written.comprehensions import MADE, Comprehensions
from onnxpert.capture.written.exits import Exits, UnwritableError, stop_of
from onnxpert.capture.written.extending import Extending
from onnxpert.capture.written.leaving import PREFIX, loaded
from onnxpert.capture.written.matching import Matching
from onnxpert.capture.written.naming import Naming
from onnxpert.capture.written.syntax import (
    arguments,
    called,
    define,
    function_of,
    is_choice,
    is_number_itself,
    is_part,
    is_search,
    is_unzipping,
    nonlocal_,
    own,
    placed,
)
from onnxpert.capture.written.tries import types_of
from onnxpert.capture.written.unpacking import Unpacking
from onnxpert.capture.written.variables import (
    changed_attributes,
    declared_elsewhere,
    local_names,
    same_things,
)

# `collections.deque`, `functools.reduce` and `itertools.product`
_ELSEWHERE = frozenset({"deque", "reduce", "accumulate", "pairwise", "product", "combinations"})
_OPEN = frozenset(
    {
        "range",
        "len",
        "int",
        "float",
        "bool",
        "enumerate",
        "zip",
        "reversed",
        "sum",
        "min",
        "max",
        "sorted",
        "getattr",
        "any",
        "all",
        "map",
        "filter",
        "list",
        "tuple",
        "abs",
        *_ELSEWHERE,
    }
)
# Also names of types, which is what they are where nobody calls them: `isinstance(x, (list, tuple))`.
_TYPES = frozenset(
    {
        "range",
        "int",
        "float",
        "bool",
        "enumerate",
        "zip",
        "reversed",
        "list",
        "tuple",
        "map",
        "filter",
        *_ELSEWHERE,
    }
)
_CALLERS = frozenset({"map", "filter"})  # of what they are given first
_BEYOND = (ast.Await, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith, ast.Global)


def rewritten(function: ast.FunctionDef) -> ast.FunctionDef:
    """Raises UnwritableError."""
    for part in ast.walk(function):
        if isinstance(part, _BEYOND):
            raise UnwritableError(f"`{type(part).__name__}` is in a function")
    numbers = iter(range(10**9))
    function.decorator_list = []
    Matching(numbers).visit(function)
    Extending(numbers).visit(function)
    Unpacking(numbers).visit(function)
    Comprehensions(numbers).visit(function)
    Naming(numbers).function(function)
    Flowing(numbers).function(function)
    return ast.fix_missing_locations(function)


class Flowing(ast.NodeTransformer):
    """Branches, loops and what decides them."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._scopes: list[set[str]] = []
        self._first: list[str] = []  # parameter of each function around
        self._closures: dict[str, set[str]] = {}  # names in the functions inside, by their own
        self._same: dict[str, set[str]] = {}  # names that may hold one thing
        self._called: set[ast.AST] = set()
        self._asked: set[ast.AST] = set()  # of which nothing but the truth is asked

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = Exits(self._numbers).function(node.body)
        scope = local_names(node)
        self._same |= same_things(node)
        self._scopes.append(scope)
        arguments = [*node.args.posonlyargs, *node.args.args]
        self._first.append(arguments[0].arg if arguments else "")
        body = self._block(node.body)
        self._scopes.pop()
        self._first.pop()
        given = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        declared = sorted(
            name for name in scope - given - declared_elsewhere(node) if not name.startswith(MADE)
        )
        # Variables of the function's, even where only a function inside assigns them.
        names: list[ast.stmt] = [
            ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in declared
        ]
        if names:
            body = [ast.If(ast.Constant(0), names, []), *body]
        node.body = body
        first = body[0]
        ast.copy_location(first, node)
        return ast.fix_missing_locations(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        # Whoever calls it reads and writes what it does.
        self._closures.setdefault(node.name, set()).update(
            part.id for part in ast.walk(node) if isinstance(part, ast.Name)
        )
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        return self.function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def _block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for one in statements:
            made = self.visit(one)
            done += made if isinstance(made, list) else [made]
        return done

    def visit_If(self, node: ast.If) -> Any:
        names = self._state(node)
        returns = any(isinstance(part, ast.Return) for part in own([node]))
        stored = [self._stored(side) for side in (node.body, node.orelse)]
        test = self._truth(node.test)
        number = next(self._numbers)
        yes, no = f"{PREFIX}yes_{number}", f"{PREFIX}no_{number}"
        sides = [
            define(name, [*nonlocal_(own), *(self._block(side) or [ast.Pass()])])
            for name, side, own in ((yes, node.body, stored[0]), (no, node.orelse, stored[1]))
        ]
        held, state = _state(number, names)
        call = called("branch", test, loaded(yes), loaded(no), state)
        last: ast.stmt = ast.Return(call) if returns else ast.Expr(call)
        return placed([*sides, *held, last], node)

    def visit_For(self, node: ast.For) -> Any:
        names = self._state(node)
        stored = self._stored([node.target, *node.body])
        over, number = self.visit(node.iter), next(self._numbers)
        item, body = f"{PREFIX}item_{number}", f"{PREFIX}body_{number}"
        take = ast.Assign([node.target], loaded(item))
        turn = define(body, [*nonlocal_(stored), take, *self._block(node.body)], [item])
        held, state = _state(number, names)
        call = called("gone_through", over, loaded(body), _stop(node), state)
        return placed([turn, *held, ast.Expr(call)], node)

    def visit_While(self, node: ast.While) -> Any:
        names = self._state(node)
        stored = self._stored(node.body)
        number = next(self._numbers)
        test, body = f"{PREFIX}test_{number}", f"{PREFIX}body_{number}"
        ask = define(test, [ast.Return(self._truth(node.test))])
        turn = define(body, [*nonlocal_(stored), *self._block(node.body)])
        held, state = _state(number, names)
        call = called("gone_round", loaded(test), loaded(body), _stop(node), state)
        return placed([ask, turn, *held, ast.Expr(call)], node)

    def visit_Try(self, node: ast.Try) -> Any:
        made: Any = self.generic_visit(node)
        if any(not isinstance(one.body[-1], ast.Raise) for one in node.handlers):
            held = ast.With([ast.withitem(called("trying", types_of(node)))], made.body)
            made.body = placed([held], node)
        return made

    def visit_Return(self, node: ast.Return) -> Any:
        value = ast.Constant(None) if node.value is None else self.visit(node.value)
        return placed([ast.Return(called("given", value))], node)[0]

    def visit_Assert(self, node: ast.Assert) -> Any:
        text = ast.Constant("AssertionError") if node.msg is None else node.msg
        asked = called("assured", self._truth(node.test), function_of(self.visit(text)))
        return placed([ast.Expr(asked)], node)[0]

    # ---- expressions -----------------------------------------------------------------------

    def _truth(self, test: ast.expr) -> Any:
        """An expression of which nothing but the truth is asked."""
        self._asked.add(test)
        return self.visit(test)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if node not in self._asked:
            return ast.copy_location(called("last_of", self._in_turn(node)), node)
        name = "both" if isinstance(node.op, ast.And) else "either"
        parts = [function_of(self._truth(value)) for value in node.values]
        return ast.copy_location(called(name, *parts), node)

    def _in_turn(self, value: ast.expr) -> ast.expr:
        """What stands in an `and` or `or` of which the value is used, each to be worked out."""
        if not isinstance(value, ast.BoolOp):
            return function_of(self.visit(value))
        parts = [self._in_turn(part) for part in value.values]
        return ast.Tuple([ast.Constant(isinstance(value.op, ast.And)), *parts], ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        made: Any = self.generic_visit(node)
        is_text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        if is_text and isinstance(node.op, ast.Mod):
            return ast.copy_location(called("formatted", made.left, made.right), node)
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return ast.copy_location(called("negated", self._truth(node.operand)), node)
        inner = self.visit(node.operand)
        return ast.copy_location(ast.UnaryOp(node.op, inner), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        sides = [function_of(self.visit(side)) for side in (node.body, node.orelse)]
        return ast.copy_location(called("chosen", self._truth(node.test), *sides), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        if any(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops):
            return self._identical(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            sides = [self.visit(side) for side in (node.left, node.comparators[0])]
            found = called("contained", *sides)
            denied = isinstance(node.ops[0], ast.NotIn)
            return ast.copy_location(called("negated", found) if denied else found, node)
        if len(node.ops) > 1:
            return self.visit(self._one_by_one(node))
        return self.generic_visit(node)

    def _identical(self, node: ast.Compare) -> Any:
        """`is` and `is not`."""
        last, denied = node.comparators[-1], isinstance(node.ops[0], ast.IsNot)
        alone = len(node.ops) == 1
        if alone and isinstance(last, ast.Constant) and last.value is None:
            found = called("present" if denied else "absent", self.visit(node.left))
            return ast.copy_location(found, node)
        if alone and is_number_itself(last):
            found = called("same", self.visit(node.left), last)
            return ast.copy_location(called("negated", found) if denied else found, node)
        node.left = called("given", node.left)
        return self.generic_visit(node)

    def _one_by_one(self, node: ast.Compare) -> ast.expr:
        """`a < f() < b` as two that both hold, where the middle is worked out once."""
        middle, *others = node.comparators
        is_plain = isinstance(middle, (ast.Name, ast.Constant))
        held = middle if is_plain else loaded(f"{PREFIX}middle_{next(self._numbers)}")
        first = ast.Compare(node.left, node.ops[:1], [held])
        both = ast.BoolOp(ast.And(), [first, ast.Compare(held, node.ops[1:], others)])
        self._asked.add(both)  # comparisons are truths
        made: ast.expr = both
        if isinstance(held, ast.Name) and not is_plain:
            made = ast.Call(ast.Lambda(arguments([held.id]), both), [middle], [])
        for part in ast.walk(made):
            ast.copy_location(part, node) if not hasattr(part, "lineno") else None
        return made

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            node.args = [loaded("__class__"), loaded(self._first[0])]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "tolist" and not node.args:
            return ast.copy_location(called("listed", self.visit(node.func.value)), node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and not node.keywords:
            asked = [self.visit(one) for one in (node.func.value, *node.args)]
            return ast.copy_location(called("got", *asked), node)
        if is_search(node):
            assert isinstance(node.func, ast.Attribute)
            asked = [self.visit(one) for one in (node.func.value, *node.args)]
            found = called("searched", ast.Constant(node.func.attr), *asked)
            return ast.copy_location(found, node)
        if is_unzipping(node):
            rows = self.visit(node.args[0].value)  # type: ignore[attr-defined]
            return ast.copy_location(called("unzipped", rows), node)
        self._called.add(node.func)
        if isinstance(node.func, ast.Name) and node.func.id in _CALLERS:
            self._called.update(node.args[:1])
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        parts = is_part(node)
        made: Any = self.generic_visit(node)
        if not parts and not is_choice(node):
            return made
        if parts:
            part = made.slice
            ends = [end or ast.Constant(None) for end in (part.lower, part.upper, part.step)]
            return ast.copy_location(called("part", made.value, *ends), node)
        return ast.copy_location(called("item", made.value, made.slice), node)

    def visit_Name(self, node: ast.Name) -> Any:
        known = any(node.id in scope for scope in self._scopes)
        opened = node.id in _OPEN and (node.id not in _TYPES or node in self._called)
        if isinstance(node.ctx, ast.Load) and opened and not known:
            return ast.copy_location(called("builtin", node), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        opened = node.attr in _ELSEWHERE and node in self._called
        made: Any = self.generic_visit(node)
        return ast.copy_location(called("builtin", made), node) if opened else made

    # ---- variables -------------------------------------------------------------------------

    def _state(self, node: ast.AST) -> list[str]:
        """What a statement reads or writes of the function's variables and their attributes."""
        visible = set().union(*self._scopes)
        named = self._through_closures({p.id for p in ast.walk(node) if isinstance(p, ast.Name)})
        names = {name for name in named if name in visible and not _is_made(name)}
        dotted = {text for part in ast.walk(node) for text in changed_attributes(part, visible)}
        stop = stop_of(node) if isinstance(node, ast.stmt) else None
        return sorted(names | dotted | ({stop} if stop else set()))

    def _through_closures(self, names: set[str]) -> set[str]:
        names = names.union(*(self._same.get(name, ()) for name in names))
        while True:
            more = names.union(*(self._closures.get(name, ()) for name in names))
            if more == names:
                return names
            names = more

    def _stored(self, statements: Iterable[ast.AST]) -> list[str]:
        visible = set().union(*self._scopes)
        return sorted(
            {
                part.id
                for one in statements
                for part in own([one])
                if isinstance(part, ast.Name)
                and not isinstance(part.ctx, ast.Load)
                and part.id in visible
                and not _is_made(part.id)
            }
        )


def _is_made(name: str) -> bool:
    return name.startswith(MADE)


def _stop(loop: ast.stmt) -> ast.expr:
    name = stop_of(loop)
    return ast.Constant(None) if name is None else function_of(loaded(name))


def _state(number: int, names: Sequence[str]) -> tuple[list[ast.stmt], ast.expr]:
    """Two functions, which read and write the variables, and how to say them in a call."""
    read, write, given = (f"{PREFIX}{what}_{number}" for what in ("get", "set", "new"))
    plain = [name for name in names if "." not in name]
    values: list[ast.expr] = [
        called(
            "field" if _home(name) in plain else "held",
            *(function_of(ast.parse(one, mode="eval").body) for one in _read(name, plain)),
        )
        for name in names
    ]
    puts: list[ast.stmt] = []
    for place, name in enumerate(names):
        value = ast.Subscript(loaded(given), ast.Constant(place), ast.Load())
        if "." in name:
            home, _, attribute = name.rpartition(".")
            owner = ast.parse(home, mode="eval").body
            method = "put_field" if home in plain else "put"
            put = called(method, owner, ast.Constant(attribute), value)
            puts.append(ast.Expr(put))
        else:
            puts.append(ast.Assign([ast.Name(name, ast.Store())], value))
    reader = define(read, [ast.Return(ast.Tuple(values, ast.Load()))])
    writer = define(write, [*nonlocal_(plain), *(puts or [ast.Pass()])], [given])
    return [reader, writer], ast.Tuple([loaded(read), loaded(write)], ast.Load())


def _home(name: str) -> str:
    """Whose attribute a dotted name is."""
    return name.rpartition(".")[0]


def _read(name: str, plain: Sequence[str]) -> Iterator[str]:
    """What is worked out to read it: first whose attribute it is, where that is a variable too."""
    if _home(name) in plain:
        yield _home(name)
    yield name
