"""Changes: a node and what stands in its place; everything outside, and every comment, stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import libcst as cst

from onnxpert.repair.source.page import Page, below, dotted, imported

# An expression, one or more statements, or None where the statement goes.
New: TypeAlias = cst.CSTNode | Sequence[cst.BaseStatement] | None
Change: TypeAlias = tuple[cst.CSTNode, New]

_GONE = cst.Pass()  # stands in a line that lost all its statements, until its block is left
# Where an expression needs no parentheses, and what never does.
_DELIMITED = (cst.Arg, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Expr)
_FIRM = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def applied(page: Page, changes: Iterable[Change]) -> str:
    """The new text; of two changes that overlap, the outer one is made (the inner has its turn later)."""
    made: dict[cst.CSTNode, New] = {}
    for node, new in changes:
        made.setdefault(node, new)
    if not made:
        return page.content
    return _with_torch(page.tree.visit(_Applied(page, made))).code


class _Applied(cst.CSTTransformer):
    """Puts the new nodes where the old ones were."""

    def __init__(self, page: Page, made: Mapping[cst.CSTNode, New]) -> None:
        super().__init__()
        self._page = page
        self._made = made

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node not in self._made

    def on_leave(self, original: Any, updated: Any) -> Any:
        new = self._made.get(original, updated)
        if new is None and not isinstance(original, cst.BaseCompoundStatement):
            return cst.RemoveFromParent()
        if new is None:
            return cst.SimpleStatementLine([_GONE], original.leading_lines)
        if isinstance(new, cst.BaseExpression) and original in self._made:
            return fitted(self._page, original, new)
        if isinstance(new, cst.SimpleStatementLine) and not new.body:
            return new.with_changes(body=[_GONE])
        is_line = isinstance(original, cst.SimpleStatementLine) and new is not original
        if is_line or (original in self._made and isinstance(original, cst.BaseStatement)):
            return _commented(original, new if isinstance(new, Sequence) else [new])
        return _tidied(new) if isinstance(new, cst.IndentedBlock) else new


def fitted(page: Page, original: cst.CSTNode, new: cst.BaseExpression) -> cst.BaseExpression:
    """In parentheses, where it needs them in the place of the old one."""
    around = page.parent(original)
    if isinstance(around, cst.If) and not around.whitespace_before_test.empty:
        return new
    if new.lpar or isinstance(new, _FIRM) or isinstance(around, _DELIMITED):
        return new
    return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _comments(nodes: Iterable[cst.CSTNode]) -> Counter[str]:
    return Counter(each.value for node in nodes for each in below(node, cst.Comment))


def _commented(original: Any, new: Sequence[Any]) -> Any:
    """The statements with the comments around the old one, and those of its inside that they lack."""
    first = new[0].with_changes(leading_lines=original.leading_lines)
    lost = _comments([original]) - _comments([first, *new[1:]])
    lines = [cst.EmptyLine(comment=cst.Comment(each)) for each in lost.elements()]
    first = first.with_changes(leading_lines=[*first.leading_lines, *lines])
    return cst.FlattenSentinel([first, *new[1:]]) if new[1:] else first


def _tidied(block: cst.IndentedBlock) -> cst.IndentedBlock:
    """Without lines that lost all their statements, unless nothing else is there (a `pass`, then).

    The comments above such a line stay, above what comes next."""
    body: list[Any] = []
    above: list[cst.EmptyLine] = []
    for each in block.body:
        if _is_gone(each):
            above += [line for line in each.leading_lines if line.comment or not above]  # type: ignore[attr-defined]
        else:
            body.append(each.with_changes(leading_lines=[*above, *each.leading_lines]))  # type: ignore[attr-defined]
            above = []
    if len(body) == len(block.body) or all(map(_is_docstring, body)):
        return block
    return block.with_changes(body=body, footer=[*above, *block.footer])


def _is_gone(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and node.body[0] is _GONE


def _is_docstring(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and all(
        isinstance(each, cst.Expr) and isinstance(each.value, cst.SimpleString)
        for each in node.body
    )


def _with_torch(tree: cst.Module) -> cst.Module:
    """`import torch` where the new code needs it and the old one did without."""
    top = [each for each in tree.body if not isinstance(each, (cst.FunctionDef, cst.ClassDef))]
    bound = {name for each in top for name, _ in imported(each)}
    rest = [each for each in tree.body if not any(imported(each)) or each not in top]
    names = (name.value for each in rest for name in below(each, cst.Name))
    if "torch" in bound or "torch" not in names:
        return tree
    body: list[Any] = list(tree.body)
    at = next(number for number, each in enumerate(body) if not _goes_first(each))
    new = cst.ensure_type(cst.parse_statement("import torch"), cst.SimpleStatementLine)
    if not isinstance(body[at], cst.BaseCompoundStatement):  # the gap above it stays above
        new = new.with_changes(leading_lines=body[at].leading_lines)
        body[at] = body[at].with_changes(leading_lines=[])
    return tree.with_changes(body=[*body[:at], new, *body[at:]])


def _goes_first(node: cst.CSTNode) -> bool:
    """A docstring, or an import from the future."""
    origins = (dotted(each.module) for each in below(node, cst.ImportFrom))
    return _is_docstring(node) or "__future__" in origins
