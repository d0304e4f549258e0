"""`if` on a tensor's value, said with torch.where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, elements, names_in, small
from onnxpert.repair.source.watching import Kind

_WHERE = "torch.where({}, {}, {})"
_EITHER = "({} & {}) | (~{} & {})"  # of truth values: runtimes have no Where for them
# The same where one of both is written out: which of them, and what it is.
_ONE_KNOWN = {
    (0, "True"): "{} | {}", (0, "False"): "~{} & {}",
    (1, "True"): "~{} | {}", (1, "False"): "{} & {}",
}  # fmt: skip
_RETURN = "return"  # stands among the names for what is returned


@codemod("choose-with-where", cures=("CTL401", "CTL406", "CTL409"))
def choose_with_where(page: Page) -> Iterator[Change]:
    """A choice between two values by a tensor's value is torch.where, which computes both."""
    for node in page.each(cst.IfExp):
        if _may_be_tensor(page, node.test) and all(map(page.is_number, (node.body, node.orelse))):
            yield node, _one(page, node.test, node.body, node.orelse)
    for branch in page.each(cst.If):
        block = page.parent(branch)
        if _may_be_tensor(page, branch.test) and isinstance(block, cst.IndentedBlock):
            yield from _chosen(page, branch, block)


def _chosen(page: Page, branch: cst.If, block: cst.IndentedBlock) -> Iterator[Change]:
    """Both sides give values to names, or return, and do nothing else."""
    rest = block.body[block.body.index(branch) + 1 :]
    end = next(small(rest[-1])) if rest and _returns([branch]) else None
    last = end.value if isinstance(end, cst.Return) else None
    side = _choice(page, branch, "", last if len(rest) == 1 else None)
    if side is not None:
        yield from _said(page, branch, side)
        if last is not None and len(rest) == 1 and end is not None:
            yield end, None
    elif last is not None and branch.orelse is None and not _returns(rest[:-1]):
        yield from _kept(page, branch, last)


def _said(page: Page, branch: cst.If, side: _Side) -> Iterator[Change]:
    new = list(side.lines)
    done: set[str] = set()
    for name, value in side.values.items():
        if done & names_in(value):
            return  # it reads what was just overwritten
        done.add(_root(name))
        new.append(page.statement("return {}" if name == _RETURN else f"{name} = {{}}", value))
    if side.values:
        yield branch, new


def _kept(page: Page, branch: cst.If, last: cst.BaseExpression) -> Iterator[Change]:
    """An early return: its value waits for the end of the block."""
    side = _side(page, branch.body, "_if")
    if side is None or _RETURN not in side.values:
        return
    early = side.values[_RETURN]
    is_early, kept = (page.fresh(branch, name) for name in ("is_early", "early"))
    named = ((is_early, branch.test), (kept, early))
    lines = [page.statement(f"{name} = {{}}", value) for name, value in named]
    yield branch, [lines[0], *side.lines, lines[1]]
    parts = ", ".join(f"{kept}[{number}]" for number in range(len(elements(early)))) or kept
    yield last, _where(page, cst.Name(is_early), page.expression(parts), last)


def _where(
    page: Page,
    test: cst.BaseExpression,
    yes: cst.BaseExpression,
    no: cst.BaseExpression,
    *,
    truth: bool = False,
) -> cst.BaseExpression:
    """Of tuples, the choice of each of their elements that is not the same on both sides."""
    ones, others = elements(yes), elements(no)
    if not ones or len(ones) != len(others):
        return _one(page, test, yes, no, truth=truth)
    parts = [
        one if page.code(one) == page.code(other) else _one(page, test, one, other)
        for one, other in zip(ones, others, strict=True)
    ]
    return page.expression(
        ", ".join(["{}"] * len(parts)) + ("," if len(parts) == 1 else ""), *parts
    )


def _one(
    page: Page,
    test: cst.BaseExpression,
    yes: cst.BaseExpression,
    no: cst.BaseExpression,
    *,
    truth: bool = False,
) -> cst.BaseExpression:
    """`truth`: it is known that both are truth values."""
    for (side, said), answer in _ONE_KNOWN.items():
        if page.code((yes, no)[side]) == said and (truth or _holds_truth(page, (no, yes)[side])):
            return page.expression(answer, test, (no, yes)[side])
    if truth or any(_is_truth(page, each) for each in (yes, no)):
        return page.expression(_EITHER, test, yes, test, no)
    return page.expression(_WHERE, test, yes, no)


def _read(page: Page, node: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where the function around a node reads a name, as far as anybody has come there."""
    uses = below(page.function(node) or node, cst.Name)
    return [each for each in uses if each.value == name and page.values(each)]


def _is_truth(page: Page, node: cst.BaseExpression) -> bool:
    """Whether it is a tensor of truth values, or becomes one with this change."""
    return _holds_truth(page, node) and _may_be_tensor(page, node)


def _holds_truth(page: Page, node: cst.BaseExpression) -> bool:
    seen = page.values(node)
    return bool(seen) and all(each.kind is Kind.BOOL or each.dtype == "bool" for each in seen)


def _may_be_tensor(page: Page, node: cst.BaseExpression) -> bool:
    """Whether it was one, at least in some turns: in others it is what a branch still makes of it."""
    kinds = {each.kind for each in page.values(node)}
    named = isinstance(node, cst.Name) and kinds == {Kind.TENSOR, Kind.BOOL}
    return named or page.is_tensor(node)


def _returns(body: Sequence[cst.CSTNode]) -> bool:
    return any(True for each in body for _ in below(each, cst.Return))


@dataclass
class _Side:
    """What a branch assigns: lines that go before the choice, and the value of each name."""

    lines: list[cst.SimpleStatementLine] = field(default_factory=list)
    values: dict[str, cst.BaseExpression] = field(default_factory=dict)


def _side(
    page: Page, node: cst.CSTNode | None, suffix: str, last: cst.BaseExpression | None = None
) -> _Side | None:
    """Of a branch, or of an `elif` after which `last` is returned; None: it does something else."""
    if isinstance(node, cst.If):
        return _choice(page, node, suffix, last)
    if node is None and last is not None:
        return _Side(values={_RETURN: last})
    side = _Side()
    waiting = list(small(node))
    while waiting:
        found = _assignment(page, waiting.pop(0))
        if found is None:
            return None
        name, value = found[0], _renamed(found[1], side.values)
        if any(_root(name) in names_in(each) for each in waiting):
            if _root(name) != name:
                return None
            made = {name for line in side.lines for name in names_in(line)}
            kept = page.fresh(node or page.tree, f"{name}{suffix}", made)
            side.lines.append(page.statement(f"{kept} = {{}}", value))
            value = cst.Name(kept)
        side.values[name] = value
    return side


def _choice(page: Page, node: cst.If, suffix: str, last: cst.BaseExpression | None) -> _Side | None:
    if not _may_be_tensor(page, node.test) and page.values(node.test):
        return None
    yes = _side(page, node.body, f"{suffix}_if")
    no = _side(page, node.orelse, f"{suffix}_else", last)
    if yes is None or no is None or (_RETURN in yes.values) != (_RETURN in no.values):
        return None
    names = [_RETURN] if _RETURN in yes.values else [*dict.fromkeys([*yes.values, *no.values])]
    side, test = _Side([*yes.lines, *no.lines]), node.test
    sides = (*yes.values.values(), *no.values.values())
    twice = any(elements(each) or _is_truth(page, each) for each in sides)
    once = isinstance(test, cst.Name) and len(names) == 1 and not side.lines
    if not once and (len(names) > 1 or side.lines or twice):
        test = cst.Name(page.fresh(node, f"condition{suffix}"))
        side.lines.insert(0, page.statement(f"{test.value} = {{}}", node.test))
    for name in names:
        values = (each.values.get(name) or page.expression(name) for each in (yes, no))
        uses = _read(page, node, _root(name))
        truth = bool(uses) and all(_is_truth(page, each) for each in uses)
        side.values[name] = _where(page, test, *values, truth=truth)
    return side


def _root(name: str) -> str:
    """`states` for `states[i]`."""
    return name.partition("[")[0]


def _assignment(page: Page, node: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """The name and the value of `name = value`, `name += value` or `return value`; None of a text, too.

    A place in a list of tensors is such a name, and a tensor that is changed in place gets a new value."""
    if isinstance(node, cst.Return) and node.value is not None:
        return (_RETURN, node.value) if _is_value(page, node.value) else None
    target, value = page.assigned(node)
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        target, value = _in_place(page, node.value) or (target, value)
    named = isinstance(target, cst.Name) or (target is not None and _is_listed(page, target))
    return (page.code(target), value) if named and target and _is_value(page, value) else None


def _is_value(page: Page, value: cst.BaseExpression) -> bool:
    return bool(elements(value)) or page.is_number(value)


def _is_listed(page: Page, target: cst.CSTNode) -> bool:
    """Whether it is `states[i]`, of a list of tensors or of a tensor."""
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
        return False
    places = [each.slice.value for each in target.slice if isinstance(each.slice, cst.Index)]
    plain = all(isinstance(each, (cst.Name, cst.Integer)) for each in places)
    counted = all(each.dtype != "bool" for place in places for each in page.values(place))
    if len(places) < len(target.slice) or not plain or not counted:
        return False
    uses = _read(page, target, target.value.value)
    return bool(uses) and all(page.was(each, Kind.TENSORS, Kind.TENSOR) for each in uses)


def _in_place(page: Page, call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The tensor of `tensor.mul_(2)`, where it is the function's own, and `tensor.mul(2)`."""
    import torch

    function = call.func
    whole = function.value if isinstance(function, cst.Attribute) else call
    name = function.attr.value.removesuffix("_") if isinstance(function, cst.Attribute) else ""
    known = (
        name.isidentifier() and hasattr(torch.Tensor, name) and hasattr(torch.Tensor, f"{name}_")
    )
    own = isinstance(whole, cst.Name) and whole.value not in page.parameters(call)
    if not known or not page.code(function).endswith("_") or not (own or _is_listed(page, whole)):
        return None
    return whole, call.with_changes(func=cst.Attribute(whole, cst.Name(name)))


class _Renaming(cst.CSTTransformer):
    def __init__(self, names: Mapping[str, cst.BaseExpression]) -> None:
        super().__init__()
        self._names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:  # noqa: N802 - the name is libcst's
        return self._names.get(original_node.value, updated_node)

    def leave_Attribute(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - the name is libcst's
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - the name is libcst's
        return updated_node.with_changes(keyword=original_node.keyword)


def _renamed(node: cst.BaseExpression, names: Mapping[str, cst.BaseExpression]) -> Any:
    """The expression with what these names stand for inside the branch."""
    return node.visit(_Renaming(names)) if names else node
