"""Tables that are made number by number, from `range` of a size, made of torch.arange."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import count
from onnxpert.repair.source.page import Page, given

_WHERE = "torch.where({}, {}, {})"


@codemod("make-with-arange", cures=("SHP201", "SHP202", "SHP205", "SHP211", "CTL402"))
def make_with_arange(page: Page) -> Iterator[Change]:
    """A list has as many numbers as the example asks for; torch.arange as many as its size says."""
    for node in page.calls("torch.tensor"):
        values, words = given(node)
        if len(values) != 1 or words.keys() - {"dtype", "device"}:
            continue
        heads: list[tuple[str, str]] = []
        inner = values[0]
        while isinstance(inner, cst.ListComp) and (head := _head(page, inner)):
            heads.append(head)
            inner = inner.elt
        if heads and not isinstance(inner, cst.ListComp):
            axes = {
                name: every + (f"[:{', None' * after}]" if after else "")
                for after, (name, every) in zip(reversed(range(len(heads))), heads, strict=True)
            }
            made: Any = inner.visit(_Broadcast(page, axes))
            casts = "".join(f".to({page.code(each)})" for each in words.values())
            yield node, page.expression(f"{{}}{casts}", made) if casts else made


def _head(page: Page, made: cst.ListComp) -> tuple[str, str] | None:
    """The name that counts, and all that it counts through, where that may be another number."""
    counted = count(page, made.for_in.iter)
    plain = not made.for_in.ifs and made.for_in.inner_for_in is None
    if counted is None or not counted.is_open or not plain:
        return None
    target = made.for_in.target
    return (target.value, counted.every("torch.arange(")) if isinstance(target, cst.Name) else None


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
