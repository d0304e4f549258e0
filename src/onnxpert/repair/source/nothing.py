"""What statements do where a mask chooses nothing: those of which it can be read that they do nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import libcst as cst

from onnxpert.repair.source.page import Page, below, dotted, given, names_in, small
from onnxpert.repair.source.uses import bound

# What refuses to have nothing to choose from.
_NEED_ONE = frozenset(
    {"max", "min", "amax", "amin", "aminmax", "argmax", "argmin", "median", "mode", "quantile",
     "kthvalue", "topk", "item", "stack", "cat", "cummax", "cummin", "logsumexp"}
)  # fmt: skip
_AT_PLACES = frozenset(
    {"index_add_", "index_copy_", "index_fill_", "index_put_", "masked_fill_", "masked_scatter_"}
)  # by their first or second argument


@dataclass(frozen=True)
class Nothing:
    """A mask that chooses nothing, and the names of what it would have chosen or of the places."""

    page: Page
    mask: cst.BaseExpression
    chosen: str = ""

    def is_left(self, lines: Sequence[cst.CSTNode], seen: Collection[str]) -> bool:
        """Whether these statements leave all as it is: they write where it chooses, and give names
        values that nobody else sees."""
        names = bound(cst.IndentedBlock(lines))  # type: ignore[arg-type]
        if {*names} & {*names_in(self.mask), self.chosen, *seen}:
            return False
        return all(self._is_idle(each) for line in lines for each in small(line))

    def _is_idle(self, node: cst.CSTNode) -> bool:
        if any(_last(call) in _NEED_ONE for call in below(node, cst.Call)):
            return False
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            return self._is_own(node.targets[0].target)
        if isinstance(node, cst.AugAssign):
            return not isinstance(node.target, cst.Name) and self._is_own(node.target)
        call = node.value if isinstance(node, cst.Expr) else None
        if isinstance(call, cst.Call) and _last(call) in _AT_PLACES:
            return any(map(self._is_place, given(call)[0][:2]))
        return False

    def _is_own(self, target: cst.BaseExpression) -> bool:
        if isinstance(target, cst.Subscript):
            parts = (each.slice for each in target.slice)
            return any(isinstance(part, cst.Index) and self._is_place(part.value) for part in parts)
        return isinstance(target, cst.Name) or (
            isinstance(target, cst.Tuple)
            and all(isinstance(each.value, cst.Name) for each in target.elements)
        )

    def _is_place(self, node: cst.BaseExpression) -> bool:
        """The mask itself, or the places where it is true by their name."""
        if isinstance(node, cst.Name) and node.value == self.chosen:
            return all(each.dtype in ("int64", "bool") for each in self.page.values(node))
        return self.page.code(node) == self.page.code(self.mask)


def _last(call: cst.Call) -> str:
    """The name of a function or a method, whatever it is called on."""
    function = call.func
    return function.attr.value if isinstance(function, cst.Attribute) else dotted(function)
