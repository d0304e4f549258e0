"""A file under a codemod's eyes: its tree, what its expressions were, and where they stand."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from onnxpert.repair.source.edit import Edit, Span, offsets, span
from onnxpert.repair.source.text import newline
from onnxpert.repair.source.watching import Kind, Place, Seen, place


@dataclass(frozen=True)
class Page:
    """One version of a file."""

    file: str
    content: str
    seen: Mapping[Place, list[Seen]] = field(repr=False)

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.content)

    @functools.cached_property
    def _starts(self) -> list[int]:
        return offsets(self.content)

    @functools.cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (found := self._parents.get(node)) is not None:
            yield found
            node = found

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        return next((each for each in self.above(node) if isinstance(each, ast.FunctionDef)), None)

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        return next((each for each in self.above(node) if isinstance(each, ast.ClassDef)), None)

    def span(self, node: ast.AST) -> Span:
        return span(node, self.content, self._starts)

    def code(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.content[start:end]

    def operand(self, node: ast.AST) -> str:
        """The code of an expression, in parentheses where it binds less than a name does."""
        firm = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Tuple)
        return self.code(node) if isinstance(node, firm) else f"({self.code(node)})"

    def edit(self, node: ast.AST, new: str) -> Edit:
        return Edit(self.span(node), new)

    def whole_lines(self, node: ast.AST) -> Span:
        """The lines of a statement, its line end included, if nothing else stands on them."""
        start, end = self.span(node)
        line = self._starts[node.lineno - 1]  # type: ignore[attr-defined]
        after = self.content.find("\n", end)
        after = len(self.content) if after < 0 else after + 1
        alone = not self.content[line:start].strip() and not self.content[end:after].strip()
        return (line, after) if alone else (start, end)

    def indent(self, node: ast.AST) -> str:
        line = self._starts[node.lineno - 1]  # type: ignore[attr-defined]
        text = self.content[line : self.span(node)[0]]
        return text if not text.strip() else ""

    @property
    def newline(self) -> str:
        return newline(self.content)

    def values(self, node: ast.AST) -> list[Seen]:
        """What an expression was, whenever it was evaluated; [] if it never was."""
        return self.seen.get(place(self.file, node), []) if hasattr(node, "lineno") else []

    def was(self, node: ast.AST, *kinds: Kind) -> bool:
        found = self.values(node)
        return bool(found) and all(each.kind in kinds for each in found)

    def is_tensor(self, node: ast.AST) -> bool:
        return self.was(node, Kind.TENSOR)

    def tensor_parameter(self, node: ast.AST) -> str:
        """The first parameter of the enclosing function that was a tensor, "" if none was."""
        function = self.function(node)
        if function is None:
            return ""
        names = [each.arg for each in function.args.args if each.arg != "self"]
        loads = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        tensors = {name.id for name in loads if self.is_tensor(name)}
        return next((name for name in names if name in tensors), "")

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of a dotted name (`torch.tensor`, `math.*`) inside functions."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and self.function(node):
                name = dotted(node.func)
                family = name.partition(".")[0] + ".*" if "." in name else ""
                if name in names or family in names:
                    yield node

    def methods(self, *names: str) -> Iterator[tuple[ast.Call, ast.expr]]:
        """Calls `value.name(...)`, with the value."""
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in names
                and self.function(node)
            ):
                yield node, node.func.value

    def statements(self, kind: type[ast.stmt]) -> Iterator[ast.stmt]:
        """Those inside functions other than constructors."""
        for node in ast.walk(self.tree):
            function = self.function(node) if isinstance(node, kind) else None
            if isinstance(node, kind) and function and function.name != "__init__":
                yield node


def dotted(node: ast.AST) -> str:
    """`torch.nn.functional` for that attribute of an attribute, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""
