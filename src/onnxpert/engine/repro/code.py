"""The few lines of the user's that a failure needs: one class, what it calls, nothing else."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnxpert.engine.repro.values import UnsayableError, written

CHECK = "torch.testing.assert_close("
_EXPORT = "torch.onnx.export(Model().eval(), args, {}dynamo=True)"


@dataclass(frozen=True, slots=True)
class Part:
    """A module of the model and how it was called."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    # The names of forward when the line of interest was reached; None: it never was.
    known: Mapping[str, Any] | None = None
    # The axes that shall be dynamic, by the names of forward's parameters.
    dynamic: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def holding(part: Part, line: int) -> int | None:
    """The number of the statement of forward that a line of the file belongs to."""
    lines, first = inspect.getsourcelines(type(part.module).forward)
    tree = ast.parse(inspect.cleandoc("\n" + "".join(lines)))
    for number, each in enumerate(tree.body[0].body):  # type: ignore[attr-defined]
        if each.lineno <= line - first + 1 <= each.end_lineno:
            return number
    return None


def starts(part: Part) -> list[int]:
    """The line of the file that each statement of forward begins with."""
    lines, first = inspect.getsourcelines(type(part.module).forward)
    tree = ast.parse(inspect.cleandoc("\n" + "".join(lines)))
    body = tree.body[0].body  # type: ignore[attr-defined]
    return [first + each.lineno - 1 for each in body]


def script(part: Part, drop: Sequence[int] = (), known: Mapping[str, Any] | None = None) -> str:
    """A script of that part alone, without the statements of forward that are numbered in `drop`.

    With `known`, the names that are left without a value become inputs, of such values.

    Raises UnsayableError, OSError or TypeError where there is no source, or no short one."""
    code = getattr(type(part.module).forward, "__code__", None)
    text = "".join(linecache.getlines(code.co_filename)) if code else ""
    tree = ast.parse(text)  # without a source, a tree without the class
    owner = _named(tree, type(part.module).__name__)
    methods = {each.name: each for each in owner.body if isinstance(each, ast.FunctionDef)}
    if "forward" not in methods:
        raise UnsayableError("forward is not written here")
    methods["forward"].body = _answering(_without(methods["forward"].body, drop))
    if known is not None:
        part = _with_inputs(part, methods["forward"], known)
    kept = list(_reached(methods, "forward"))
    attributes = list(_attributes(part.module, kept))
    needed = list(_needed(tree, [*kept]))
    return _assembled(part, kept, attributes, needed)


def _with_inputs(part: Part, forward: ast.FunctionDef, known: Mapping[str, Any]) -> Part:
    """The names that forward reads as its parameters, each with the value it had."""
    loads = [each for node in forward.body for each in ast.walk(node) if isinstance(each, ast.Name)]
    names = dict.fromkeys(each.id for each in loads if isinstance(each.ctx, ast.Load))
    given = {name: known[name] for name in names if name in known and name != "self"}
    forward.args = ast.arguments(
        [], [ast.arg(name) for name in ("self", *given)], None, [], [], None, []
    )
    return Part(part.module, tuple(given.values()), {})


def statements(part: Part) -> int:
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(type(part.module).forward)))
    return len(tree.body[0].body)  # type: ignore[attr-defined]


def same_line(one: str, other: str) -> bool:
    """Whether two lines say the same, however they are laid out."""
    return _laid_out(one) == _laid_out(other)


def _laid_out(line: str) -> str:
    for text in (line.strip(), f"{line.strip()} pass"):
        try:
            return ast.unparse(ast.parse(text)).partition("\n")[0]
        except SyntaxError:
            continue
    return line.strip()


def _named(tree: ast.Module, name: str) -> ast.ClassDef:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise UnsayableError(name)


def _without(body: list[ast.stmt], drop: Sequence[int]) -> list[ast.stmt]:
    left = [each for number, each in enumerate(body) if number not in drop]
    return left or [ast.Pass()]


def _answering(body: list[ast.stmt]) -> list[ast.stmt]:
    """With what the last statement makes as the result: a model without any fails for that."""
    last = body[-1]
    names = _binds(last) if isinstance(last, (ast.Assign, ast.AnnAssign)) else set()
    return [*body, ast.Return(ast.Name(min(names), ast.Load()))] if names else body


def _reached(methods: dict[str, ast.FunctionDef], first: str) -> Iterator[ast.FunctionDef]:
    """A method and those it calls on `self`."""
    waiting, done = [first], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in done or name not in methods:
            continue
        done.add(name)
        yield methods[name]
        waiting += _of_self(methods[name])


def _of_self(node: ast.AST) -> list[str]:
    return [
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    ]


def _attributes(module: Any, kept: Sequence[ast.FunctionDef]) -> Iterator[str]:
    """Assignments that give the class what its methods read."""
    import torch

    own = {each.name for each in kept} | {"training"}
    for name in dict.fromkeys(name for each in kept for name in _of_self(each)):
        if name in own or not hasattr(module, name):
            continue
        value = getattr(module, name)
        if isinstance(value, torch.nn.Parameter):
            yield f"self.{name} = torch.nn.Parameter({written(value)})"
        elif isinstance(value, torch.Tensor):
            yield f'self.register_buffer("{name}", {written(value)})'
        elif isinstance(value, torch.nn.Module) and not type(value).__module__.startswith("torch."):
            yield f"self.{name} = torch.nn.Identity()"
        else:
            yield f"self.{name} = {written(value)}"


def _needed(tree: ast.Module, nodes: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """Top-level statements whose names are used: imports, constants, functions, and theirs in turn."""
    names = {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
    found: list[ast.stmt] = []
    for _ in range(len(tree.body)):
        more = [each for each in tree.body if each not in found and _binds(each) & names]
        if not more:
            break
        found += more
        names |= {n.id for each in more for n in ast.walk(each) if isinstance(n, ast.Name)}
    for each in (each for each in tree.body if each in found):
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            each.names = [alias for alias in each.names if _bound(alias) in names]
        yield each


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return set(map(_bound, node.names))
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    inside = (each for target in targets for each in ast.walk(target))
    stored = (each for each in inside if isinstance(each, ast.Name))
    return {each.id for each in stored if isinstance(each.ctx, ast.Store)}


def _bound(alias: ast.alias) -> str:
    return (alias.asname or alias.name).partition(".")[0]


def _assembled(
    part: Part, kept: list[ast.FunctionDef], attributes: list[str], needed: list[ast.stmt]
) -> str:
    imports = [each for each in needed if isinstance(each, (ast.Import, ast.ImportFrom))]
    others = [each for each in needed if each not in imports]
    lines = ["import torch", *(ast.unparse(each) for each in imports), ""]
    lines = list(dict.fromkeys(lines))
    lines += [part_ for each in others for part_ in ("", *ast.unparse(each).splitlines())]
    lines += ["", "class Model(torch.nn.Module):"]
    if attributes:
        lines += ["    def __init__(self):", "        super().__init__()"]
        lines += [f"        {each}" for each in attributes] + [""]
    for method in kept:
        lines += [f"    {line}" for line in ast.unparse(method).splitlines()] + [""]
    lines += ["", f"args = {written(tuple(part.args))}"]
    return "\n".join([*lines, *_exported(part), ""])


def checked(text: str, part: Part) -> str:
    """A script that goes on to run its file on other values than the example's."""
    made, call = text.rstrip().rsplit("\n", 1)
    return "\n".join(
        [
            "import onnxruntime  # torch runs its files with it",
            f"{made}\nmodel = Model().eval()",
            f"program = {call.replace('Model().eval()', 'model')}",
            f"other = {written(tuple(part.args))}",
            f"{CHECK}program(*other)[0], model(*other))",
            "",
        ]
    )


def called_again(text: str) -> str:
    """A script that goes on to call its model and its file in turn."""
    made, call = text.rstrip().rsplit("\n", 1)
    given = "*args, **kwargs" if "kwargs=" in call else "*args"
    return "\n".join(
        [
            "import copy",
            "import onnxruntime  # torch runs its files with it",
            f"{made}\nmodel = Model().eval()",
            f"program = {call.replace('Model().eval()', 'copy.deepcopy(model)')}",
            "for _ in range(3):",
            f"    {CHECK}program({given})[0], model({given}))",
            "",
        ]
    )


def _exported(part: Part) -> list[str]:
    named = {}
    if part.kwargs:
        named["kwargs"] = written(dict(part.kwargs))
    if part.dynamic:
        axes = {
            name: "{" + ", ".join(f"{axis}: torch.export.Dim.DYNAMIC" for axis in each) + "}"
            for name, each in part.dynamic.items()
        }
        inner = (f'"{name}": {axes[name] if each else None}' for name, each in part.dynamic.items())
        named["dynamic_shapes"] = f"{{{', '.join(inner)}}}"
    said = [f"{name} = {value}" for name, value in named.items()]
    return [*said, _EXPORT.format("".join(f"{name}={name}, " for name in named))]


def of_operator(node: Any) -> str:
    """A script that calls one operator, as a captured node calls it."""
    import torch
    from torch import fx

    inputs: list[str] = []

    def said(value: Any) -> str:
        if isinstance(value, fx.Node):
            held = value.meta.get("val")
            if not isinstance(held, torch.Tensor):
                return written(_plain(held))
            inputs.append(written(held))
            return f"x{len(inputs) - 1}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(said, value)) + "]"
        return written(_plain(value))

    given = [said(each) for each in node.args]
    given += [f"{key}={said(each)}" for key, each in node.kwargs.items()]
    names = ", ".join(f"x{number}" for number in range(len(inputs)))
    return "\n".join(
        [
            "import torch",
            "",
            "",
            "class Model(torch.nn.Module):",
            f"    def forward(self, {names}):",
            f"        return torch.ops.{node.target}({', '.join(given)})",
            "",
            "",
            f"args = ({', '.join(inputs)},)",
            _EXPORT.format(""),
            "",
        ]
    )


def _plain(value: Any) -> Any:
    import torch

    symbolic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
    return value.node.hint if symbolic else value
