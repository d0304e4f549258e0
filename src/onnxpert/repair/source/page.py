"""A file under a codemod's eyes: its tree with every blank and comment, and what its expressions were."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from onnxpert.repair.source.watching import Kind, Place, Seen

N = TypeVar("N", bound=cst.CSTNode)

# What stands as an operand without parentheses.
_FIRM = (
    cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.List, cst.Dict,
    cst.ListComp, cst.SimpleString,
)  # fmt: skip


@dataclass(frozen=True)
class Page:
    """One version of a file."""

    file: str
    content: str
    seen: Mapping[Place, list[Seen]] = field(repr=False)

    @property
    def tree(self) -> cst.Module:
        return _parsed(self.content).tree

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return _parsed(self.content).parents.get(node)

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost one around it."""
        found = self.parent(node)
        while found is not None and not isinstance(found, cst.FunctionDef):
            found = self.parent(found)
        return found

    def line(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """The line that is this statement and nothing else, None where it shares one."""
        found = self.parent(node)
        alone = isinstance(found, cst.SimpleStatementLine) and len(found.body) == 1
        return found if alone and isinstance(found, cst.SimpleStatementLine) else None

    def site(self, node: cst.CSTNode) -> str:
        """The code of the statement that a node is, or is in."""
        found: cst.CSTNode | None = node
        while found is not None and not isinstance(found, cst.BaseStatement):
            found = self.parent(found)
        return self.code(found).strip() if found is not None else ""

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node)

    def expression(self, template: str, *parts: cst.BaseExpression | str) -> cst.BaseExpression:
        """New code, its `{}` filled; what binds less than a name there is put in parentheses."""
        text = self._filled(template, parts)
        try:
            return cst.parse_expression(text, self.tree.config_for_parsing)
        except cst.ParserSyntaxError:  # a part of it goes over several lines
            return cst.parse_expression(f"({text})", self.tree.config_for_parsing)

    def statement(self, template: str, *parts: cst.BaseExpression | str) -> cst.SimpleStatementLine:
        text = self._filled(template, parts)
        return cst.ensure_type(
            cst.parse_statement(text, self.tree.config_for_parsing), cst.SimpleStatementLine
        )

    def _filled(self, template: str, parts: tuple[cst.BaseExpression | str, ...]) -> str:
        pieces = template.split("{}")
        text = pieces[0]
        for part, after in zip(parts, pieces[1:], strict=True):
            code = part if isinstance(part, str) else self.code(part)
            delimited = text.endswith(("(", "[", ", ", "=", "= ", "return ")) or not text
            whole = delimited and (not after or after[0] in "),]") and "\n" not in code
            loose = not isinstance(part, str) and not (isinstance(part, _FIRM) or part.lpar)
            text += (code if whole or not loose else f"({code})") + after
        return text

    def assigned(self, node: cst.CSTNode) -> tuple[cst.CSTNode | None, cst.BaseExpression]:
        """What a statement assigns to, and what it is then: `x + y` for `x += y`; None for any other."""
        if isinstance(node, cst.AugAssign):
            right = node.value
            if not (isinstance(right, _FIRM) or right.lpar):
                right = right.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            sign = getattr(cst, type(node.operator).__name__.removesuffix("Assign"))()
            return node.target, cst.BinaryOperation(node.target, sign, right)
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            return node.targets[0].target, node.value
        return None, cst.Ellipsis()

    def values(self, node: cst.CSTNode) -> list[Seen]:
        """What an expression was, whenever it was evaluated; [] if it never was."""
        where = _parsed(self.content).ranges.get(node)
        if where is None:
            return []
        start, end = where.start, where.end
        return self.seen.get((self.file, start.line, start.column, end.line, end.column), [])

    def was(self, node: cst.CSTNode, *kinds: Kind) -> bool:
        found = self.values(node)
        return bool(found) and all(each.kind in kinds for each in found)

    def has_run(self, node: cst.CSTNode) -> bool:
        """Whether the function around belongs to the model, even if this line of it was not reached."""
        return any(map(self.values, everything(self.function(node) or node)))

    def is_tensor(self, node: cst.CSTNode) -> bool:
        return self.was(node, Kind.TENSOR)

    def is_number(self, node: cst.CSTNode) -> bool:
        """Or a tensor of them, as far as anybody has seen."""
        kinds = (Kind.TENSOR, Kind.INT, Kind.FLOAT, Kind.BOOL)
        known = self.was(node, *kinds) or not self.values(node)
        return known and not isinstance(node, cst.SimpleString)

    def where(
        self, whole: cst.Name, test: cst.BaseExpression, new: cst.BaseExpression, name: str = ""
    ) -> cst.SimpleStatementLine:
        """The assignment of a tensor, by this name, with something new where a test is true.

        Of truth values it is said with `|` and `&`: runtimes have no Where for them."""
        signs = {"True": "{} | {}", "False": "{} & ~{}"}
        said, truth = self.code(new), {each.dtype for each in self.values(whole)} == {"bool"}
        name = name or whole.value
        if truth and said in signs:
            return self.statement(f"{name} = {name} {signs[said][3:]}", test)
        return self.statement(f"{name} = torch.where({{}}, {{}}, {name})", test, new)

    def fresh(self, node: cst.CSTNode, name: str, made: Set[str] = frozenset()) -> str:
        """A name that the function around a node does not use, nor what was just made."""
        used = made | names_in(self.function(node) or self.tree)
        return name if name not in used else self.fresh(node, f"{name}_", made)

    def parameters(self, node: cst.CSTNode) -> list[str]:
        """Of the function around it, without `self`."""
        function = self.function(node)
        if function is None:
            return []
        given = (*function.params.posonly_params, *function.params.params)
        names = [each.name.value for each in (*given, *function.params.kwonly_params)]
        return [name for name in names if name != "self"]

    def is_lasting(self, node: cst.CSTNode) -> bool:
        """Whether it names what the file or the object has, rather than what a function made."""
        top = [each for each in self.tree.body if isinstance(each, cst.SimpleStatementLine)]
        made = (each.target for line in top for each in below(line, cst.AssignTarget))
        return dotted(node).startswith("self.") or dotted(node) in map(dotted, made)

    def each(self, kind: type[N]) -> Iterator[N]:
        """Nodes inside functions other than constructors, in the order of the source."""
        for node in _parsed(self.content).parents:
            if isinstance(node, kind):
                function = self.function(node)
                if function is not None and function.name.value != "__init__":
                    yield node

    def name(self, node: cst.CSTNode) -> str:
        """`numpy.exp` for `np.exp`, by what the file imports; "" for what is no dotted name."""
        first, dot, rest = dotted(node).partition(".")
        return f"{_parsed(self.content).imports.get(first, first)}{dot}{rest}"

    def calls(self, *names: str) -> Iterator[cst.Call]:
        """Calls of these functions (`torch.tensor`, `math.*`), however they were imported."""
        for node in self.each(cst.Call):
            name = self.name(node.func)
            if name in names or (dotted(node.func) and f"{name.rpartition('.')[0]}.*" in names):
                yield node

    def methods(self, *names: str) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
        """Calls `value.name(...)`, with the value."""
        for node in self.each(cst.Call):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in names:
                yield node, node.func.value


@dataclass(frozen=True)
class _Parsed:
    tree: cst.Module
    parents: Mapping[cst.CSTNode, cst.CSTNode]  # in the order of the source
    ranges: Mapping[cst.CSTNode, CodeRange]
    imports: Mapping[str, str]


@functools.lru_cache(maxsize=256)
def _parsed(content: str) -> _Parsed:
    wrapper = MetadataWrapper(cst.parse_module(content), unsafe_skip_copy=True)
    tree = wrapper.module
    parents = {child: node for node in everything(tree) for child in node.children}
    return _Parsed(tree, parents, wrapper.resolve(PositionProvider), dict(imported(tree)))


def imported(tree: cst.CSTNode) -> Iterator[tuple[str, str]]:
    """The names that imports bind, and what they stand for."""
    for node in below(tree, cst.Import):
        yield from _bound(node.names, "")
    for origin in below(tree, cst.ImportFrom):
        if not isinstance(origin.names, cst.ImportStar):
            yield from _bound(origin.names, f"{dotted(origin.module)}." if origin.module else "")


def _bound(names: Sequence[cst.ImportAlias], before: str) -> Iterator[tuple[str, str]]:
    for each in names:
        if each.evaluated_alias:
            yield each.evaluated_alias, before + each.evaluated_name
        else:
            first = each.evaluated_name.partition(".")[0]
            yield first, before + first


def everything(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that is in it, in the order of the source."""
    yield node
    for child in node.children:
        yield from everything(child)


def below(node: cst.CSTNode, kind: type[N]) -> Iterator[N]:
    """Those of one kind."""
    return (each for each in everything(node) if isinstance(each, kind))


def names_in(node: cst.CSTNode) -> set[str]:
    """The variables; names of attributes and of arguments are none."""
    if isinstance(node, cst.Name):
        return {node.value}
    inside = [node.value] if isinstance(node, (cst.Attribute, cst.Arg)) else node.children
    return {name for each in inside for name in names_in(each)}


def small(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """The small statements of a branch or a line; any other statement as it is."""
    if isinstance(node, cst.Else):
        yield from small(node.body)
    elif isinstance(node, cst.IndentedBlock):
        for each in node.body:
            yield from small(each)
    elif isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        yield from node.body
    elif node is not None:
        yield node


def dotted(node: cst.CSTNode | None) -> str:
    """`torch.nn.functional` for that attribute of an attribute, "" for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr.value}"
    return ""


def given(call: cst.Call) -> tuple[list[cst.BaseExpression], dict[str, cst.BaseExpression]]:
    """The arguments by position and by keyword; starred ones under their stars."""
    places = [each.value for each in call.args if each.keyword is None and not each.star]
    names = {
        each.keyword.value if each.keyword else each.star: each.value
        for each in call.args
        if each.keyword is not None or each.star
    }
    return places, names


def elements(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """Of a list or a tuple that is written out; [] for anything else."""
    return [each.value for each in node.elements] if isinstance(node, (cst.List, cst.Tuple)) else []
