"""Tensors that are made of numbers counted one by one: as many as a size says, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import count
from onnxpert.repair.source.listing import listed
from onnxpert.repair.source.page import Page, given, names_in

_WHERE = "torch.where({}, {}, {})"
_BOTH = "torch.logical_and({}, {})"
_CASTS = {"float": ".to(torch.float32)", "int": ".to(torch.int64)"}


@codemod("make-with-arange", cures=("SHP201", "SHP202", "SHP205", "SHP211", "CTL402"))
def make_with_arange(page: Page) -> Iterator[Change]:
    """A list has as many numbers as the example asks for; torch.arange as many as its size says."""
    for node in page.calls("torch.tensor"):
        values, words = given(node)
        if len(values) != 1 or words.keys() - {"dtype", "device"}:
            continue
        inner, needless = listed(page, values[0])
        heads: list[tuple[str, str, bool]] = []
        while isinstance(inner, cst.ListComp) and (head := _head(page, inner)):
            heads.append(head)
            inner = inner.elt
        if any(is_open for *_, is_open in heads) and not isinstance(inner, cst.ListComp):
            axes = {
                name: every + (f"[:{', None' * after}]" if after else "")
                for after, (name, every, _) in zip(reversed(range(len(heads))), heads, strict=True)
            }
            made: Any = inner.visit(_Broadcast(page, axes))
            casts = "".join(f".to({page.code(each)})" for each in words.values())
            yield node, page.expression(f"{{}}{casts}", made) if casts else made
            yield from ((each, None) for each in needless)


def _head(page: Page, made: cst.ListComp) -> tuple[str, str, bool] | None:
    """The name that counts, all that it counts through, and whether that may be another number."""
    counted = count(page, made.for_in.iter)
    plain = not made.for_in.ifs and made.for_in.inner_for_in is None
    target = made.for_in.target
    if counted is None or not plain or not isinstance(target, cst.Name):
        return None
    return target.value, counted.every("torch.arange("), counted.is_open


class _Broadcast(cst.CSTTransformer):
    """One number's expression for all of them: names become axes, choices torch.where."""

    def __init__(self, page: Page, axes: Mapping[str, str]) -> None:
        super().__init__()
        self._page = page
        self._axes = axes

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> Any:  # noqa: N802 - the name is libcst's
        code = self._axes.get(original_node.value)
        return self._page.expression(code) if code else updated_node

    def leave_IfExp(self, original_node: Any, updated_node: Any) -> Any:  # noqa: ARG002, N802 - ditto
        parts = (updated_node.test, updated_node.body, updated_node.orelse)
        return self._page.expression(_WHERE, *parts)

    def leave_BooleanOperation(self, original_node: Any, updated_node: Any) -> Any:  # noqa: ARG002, N802 - ditto
        name = "and" if isinstance(updated_node.operator, cst.And) else "or"
        parts = (updated_node.left, updated_node.right)
        return self._page.expression(f"torch.logical_{name}({{}}, {{}})", *parts)

    def leave_UnaryOperation(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - ditto
        if not isinstance(updated_node.operator, cst.Not) or not self._turns(original_node):
            return updated_node
        return self._page.expression("torch.logical_not({})", updated_node.expression)

    def leave_Comparison(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - ditto
        """`a <= b < c` asks for a truth value in between."""
        if len(updated_node.comparisons) < 2 or not self._turns(original_node):
            return updated_node
        left, asked = updated_node.left, []
        for each in updated_node.comparisons:
            asked.append(cst.Comparison(left, [each]))
            left = each.comparator
        whole: cst.BaseExpression = asked[0]
        for one in asked[1:]:
            whole = self._page.expression(_BOTH, whole, one)
        return whole

    def leave_Call(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802 - ditto
        """`torch.sin` for `math.sin` of what is a tensor now."""
        import torch

        name = self._page.name(original_node.func)
        known = name.startswith("math.") and hasattr(torch, name[5:])
        if not self._turns(original_node) or not (known or name in _CASTS):
            return updated_node
        if name in _CASTS:
            return self._page.expression(f"{{}}{_CASTS[name]}", updated_node.args[0].value)
        return updated_node.with_changes(func=self._page.expression(f"torch.{name[5:]}"))

    def _turns(self, node: cst.CSTNode) -> bool:
        return bool(names_in(node) & self._axes.keys())
