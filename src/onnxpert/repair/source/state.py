"""What a loop carries from turn to turn, as the tensors that torch's own loops want."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import libcst as cst
import libcst.matchers as m

from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.page import Page, below, elements
from onnxpert.repair.source.uses import statements_after, statements_before
from onnxpert.repair.source.watching import Kind, Seen

_NUMBERS = (Kind.INT, Kind.FLOAT, Kind.BOOL)
# A value of these is a new tensor, whatever it is computed of.
_NEW = (cst.BinaryOperation, cst.Comparison, cst.UnaryOperation)


def as_tensor(page: Page, loop: cst.For | cst.While, name: str) -> str:
    """The code of what a name holds before the first turn. Raises NotByRowError for what cannot be one."""
    seen = _seen(page, loop, name)
    kinds = {each.kind for each in seen}
    tensors = [each for each in seen if each.kind is Kind.TENSOR]
    if any(_is_number(page, each) for each in firsts(page, loop, name)[:1]):
        kinds.add(Kind.FLOAT)  # where it is only added to, nobody reads it there
    if kinds <= {Kind.TENSOR} or kinds == {Kind.TENSORS}:
        return name
    if not kinds <= {Kind.TENSOR, *_NUMBERS} or any(each.shape for each in tensors):
        raise NotByRowError
    dtype = f", dtype=torch.{tensors[0].dtype}" if tensors else ""
    return f"torch.tensor({name}{dtype})"


def _seen(page: Page, loop: cst.For | cst.While, name: str) -> list[Seen]:
    """Everything that it was in the function, where it was read."""
    uses = below(page.function(loop) or loop, cst.Name)
    return [seen for use in uses if use.value == name for seen in page.values(use)]


def is_truth(page: Page, loop: cst.For | cst.While, name: str) -> bool:
    """Whether it was nothing but tensors of truth values."""
    return {(each.kind, each.dtype) for each in _seen(page, loop, name)} == {(Kind.TENSOR, "bool")}


def _is_number(page: Page, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BaseNumber) or page.was(node, *_NUMBERS)


def firsts(page: Page, loop: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """What a name is given before a loop, the last of it first."""
    found = []
    for line in statements_before(page, loop):
        for made in below(line, cst.Assign):
            target, value = made.targets[0].target, made.value
            both = (elements(target), elements(value)) if elements(target) else ([target], [value])
            found += [each for one, each in zip(*both, strict=False) if page.code(one) == name]
    return found[::-1]


def own(loop: cst.For | cst.While, name: str) -> str:
    """What a turn hands on by that name: a copy, where it may be a tensor that it was given."""
    for made in below(loop.body, cst.Assign):
        for each in made.targets:
            one = isinstance(each.target, cst.Name) and each.target.value == name
            if one and not isinstance(made.value, (*_NEW, cst.Call)):
                return f"{name}.clone()"
    return name


class _Anew(cst.CSTTransformer):
    def __init__(self, page: Page, names: Collection[str]) -> None:
        super().__init__()
        self._page = page
        self._names = names

    def leave_AugAssign(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - the name is libcst's
        target = original_node.target
        if not isinstance(target, cst.Name) or target.value not in self._names:
            return updated_node
        value = self._page.assigned(updated_node)[1]
        return self._page.statement(f"{target.value} = {{}}", value).body[0]


def anew(page: Page, line: Any, names: Collection[str]) -> Any:
    """A statement of a turn that gives these names new values, `x = x + 1` for `x += 1`.

    The latter is a write into the tensor that the turn was given."""
    return line.visit(_Anew(page, names))


def anew_later(page: Page, loop: cst.CSTNode, names: Collection[str]) -> Iterator[Change]:
    """The same after the loop: what torch's loops give is not to be written into where gradients are kept."""
    for line in statements_after(page, loop):
        for node in below(line, cst.AugAssign):
            if isinstance(node.target, cst.Name) and node.target.value in names:
                value = page.assigned(node)[1]
                yield node, page.statement(f"{node.target.value} = {{}}", value).body[0]


class Lasts(cst.CSTTransformer):
    """The lists of which a turn reads what the one before added: `rows[-1]`, by a name of its own."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names  # list -> name

    def __bool__(self) -> bool:
        return bool(self.names)

    def said(self, line: Any) -> Any:
        return line.visit(self)

    def leave_Subscript(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - the name is libcst's
        found = _last_of(original_node)
        return cst.Name(self.names[found]) if found in self.names else updated_node


def lasts(page: Page, loop: cst.For) -> Lasts:
    """Those that have an element before the first turn."""
    read = {_last_of(each) for each in below(loop.body, cst.Subscript)}
    begun = [name for name in read if name and is_begun(page, loop, name)]
    return Lasts({name: page.fresh(loop, f"{name}_last") for name in sorted(begun)})


def is_begun(page: Page, loop: cst.For, name: str) -> bool:
    """Whether a list has elements before the loop adds to it."""
    return any(map(elements, firsts(page, loop, name)[:1]))


_LAST = m.SubscriptElement(m.Index(m.UnaryOperation(m.Minus(), m.Integer("1"))))


def _last_of(node: cst.Subscript) -> str:
    """`rows` for `rows[-1]`, "" for anything else."""
    last = m.matches(node, m.Subscript(m.Name(), [_LAST]))
    return node.value.value if last and isinstance(node.value, cst.Name) else ""
