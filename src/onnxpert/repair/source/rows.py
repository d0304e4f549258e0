"""What is said of one row after the other, said of all rows at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import libcst as cst

from onnxpert.repair.source.page import Page, elements, given
from onnxpert.repair.source.watching import Kind

# With no axis given they are over the whole row.
_SAME = ("mean", "sum", "prod", "std", "var", "all", "any", "amax", "amin", "argmax", "argmin")
_OVER_ALL = {name: name for name in _SAME} | {"max": "amax", "min": "amin", "norm": "norm"}
_BY_AXIS = {
    *_OVER_ALL, "softmax", "log_softmax", "cumsum", "unsqueeze", "squeeze", "transpose", "select",
    "flatten", "sort", "topk", "normalize", "stack", "cat", "flip", "chunk", "split", "scatter_add",
}  # fmt: skip
_SHAPING = ("view", "reshape")
_ELSEWHERE = ("item", "tolist", "numpy", "size", "dim", "numel")


class NotByRowError(Exception):
    """The code is not one that is known to mean the same for all rows at once."""


@dataclass(frozen=True)
class Said:
    """An expression for all rows; its rank is that of one row, None where it has no rows."""

    code: str
    rank: int | None = None
    firm: bool = True

    @property
    def part(self) -> str:
        """As an operand."""
        return self.code if self.firm else f"({self.code})"

    def padded(self, rank: int, *, operand: bool = True) -> str:
        """With as many axes behind the rows' as others have."""
        if self.rank is None or self.rank >= rank:
            return self.part if operand else self.code
        return f"{self.part}[:{', None' * (rank - self.rank)}{', :' * self.rank}]"


@dataclass
class Rows:
    """The loop's names: its index, and what stands for a row of which tensor."""

    page: Page
    index: str
    rows: dict[str, Said]
    every: str  # the code that numbers the rows
    made: Set[str] = frozenset()  # the names that the loop assigns
    known: dict[str, int] = field(default_factory=dict)  # names of the loop, with the rank of a row

    @functools.singledispatchmethod
    def said(self, node: cst.CSTNode) -> Said:
        """The expression for all rows. Raises NotByRowError."""
        raise NotByRowError(type(node).__name__)

    def rank(self, node: cst.CSTNode) -> int:
        """Of the tensor that it was in one turn."""
        found = {len(each.shape) for each in self.page.values(node) if each.kind is Kind.TENSOR}
        if len(found) != 1:
            raise NotByRowError
        return found.pop()

    @said.register
    def _number(self, node: cst.BaseNumber) -> Said:
        return Said(self.page.code(node))

    @said.register
    def _name(self, node: cst.Name) -> Said:
        if node.value in self.rows:
            return self.rows[node.value]
        if node.value in self.known:
            return Said(node.value, self.known[node.value])
        if node.value in self.made:
            raise NotByRowError(f"{node.value} comes from the turn before")
        return Said(self.every, 0) if node.value == self.index else Said(node.value)

    @said.register
    def _whole(self, node: cst.Attribute) -> Said:
        """An attribute that has nothing to do with rows."""
        inner = self.said(node.value)
        if inner.rank is not None:
            raise NotByRowError
        return Said(self.page.code(node))

    @said.register
    def _subscript(self, node: cst.Subscript) -> Said:
        places = [each.slice for each in node.slice]
        first = places[0].value if isinstance(places[0], cst.Index) else None
        if isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape":
            return self._size(node.value.value, first)
        whole = self.said(node.value)
        is_row = isinstance(first, cst.Name) and first.value == self.index and bool(self.index)
        if whole.rank is not None:
            rest = places
        elif is_row:
            rest = places[1:]
        else:
            return self._column(node, places)
        inside = [self._place(each) for each in rest]
        picked = [each for each in inside if each.rank is not None]
        if any(each.rank for each in picked):
            raise NotByRowError
        before = self.every if picked else ":"
        codes = ", ".join([before, *(each.code for each in inside)])
        code = f"{whole.part}[{codes}]" if inside else whole.code
        return Said(code, self.rank(node))

    def _size(self, node: cst.BaseExpression, axis: cst.BaseExpression | None) -> Said:
        """A size of a row, which all rows have."""
        whole = self.said(node)
        if not isinstance(axis, cst.Integer):
            raise NotByRowError
        before = whole.rank is not None
        return Said(f"{whole.part}.shape[{axis.evaluated_value + before}]")

    def _column(self, node: cst.Subscript, places: Sequence[cst.CSTNode]) -> Said:
        """`whole[k]` for `whole[k, i]`."""
        if self.page.code(places[-1]) != self.index or self.rank(node) or len(places) < 2:
            raise NotByRowError
        fixed = ", ".join(self.bare(each) for each in places[:-1])
        return Said(f"{self.page.code(node.value)}[{fixed}]", 0)

    def _place(self, node: cst.CSTNode) -> Said:
        return self.said(node.value) if isinstance(node, cst.Index) else Said(self.bare(node))

    def bare(self, node: cst.CSTNode) -> str:
        """The code of something that must not be about rows."""
        for each in node.children:
            if isinstance(each, cst.BaseExpression) and self.said(each).rank is not None:
                raise NotByRowError
        return self.page.code(node)

    @said.register
    def _unary(self, node: cst.UnaryOperation) -> Said:
        inner = self.said(node.expression)
        if isinstance(node.operator, cst.Not) and inner.rank is not None:
            raise NotByRowError
        return Said(f"{self.page.code(node.operator)}{inner.part}", inner.rank, firm=False)

    @said.register
    def _binary(self, node: cst.BinaryOperation) -> Said:
        return self._operation(node, node.left, self.page.code(node.operator), node.right)

    @said.register
    def _compared(self, node: cst.Comparison) -> Said:
        if len(node.comparisons) > 1:
            raise NotByRowError
        (one,) = node.comparisons
        return self._operation(node, node.left, self.page.code(one.operator), one.comparator)

    def _operation(
        self, node: cst.CSTNode, left: cst.BaseExpression, sign: str, right: cst.BaseExpression
    ) -> Said:
        one, other = self.said(left), self.said(right)
        if one.rank is None and other.rank is None:
            return Said(self.page.code(node), firm=False)
        ranks = [
            each.rank if each.rank is not None else self._outside(part)
            for each, part in ((one, left), (other, right))
        ]
        if sign.strip() == "@":
            if (other.rank is not None and min(ranks) < 2) or max(ranks) > 2:
                raise NotByRowError
            return Said(f"{one.part}{sign}{other.part}", self.rank(node), firm=False)
        most = max(ranks)
        return Said(f"{one.padded(most)}{sign}{other.padded(most)}", most, firm=False)

    def _outside(self, node: cst.BaseExpression) -> int:
        return max((len(each.shape) for each in self.page.values(node)), default=0)

    @said.register
    def _call(self, node: cst.Call) -> Said:
        values, words = given(node)
        method = isinstance(node.func, cst.Attribute) and self.page.is_tensor(node.func.value)
        name = self.page.name(node.func)
        if "*" in words or "**" in words:
            raise NotByRowError
        if method and isinstance(node.func, cst.Attribute):
            return self._method(node, node.func, values, words)
        if self.page.was(node.func, Kind.LAYER):
            parts = [self.said(each) for each in values]
            inside = ", ".join([each.code for each in parts] + self._words(words, shift=False))
            return Said(f"{self.page.code(node.func)}({inside})", self.rank(node))
        if name == "len" and len(values) == 1:
            return self._size(values[0], cst.Integer("0"))
        if name.startswith("torch."):
            return self._function(node, name.rpartition(".")[2], values, words)
        raise NotByRowError

    def _method(
        self,
        node: cst.Call,
        function: cst.Attribute,
        values: Sequence[cst.BaseExpression],
        words: Mapping[str, cst.BaseExpression],
    ) -> Said:
        name, whole = function.attr.value, self.said(function.value)
        if name == "size" and len(values) == 1:
            return self._size(function.value, values[0])
        if whole.rank is None or name in _ELSEWHERE or name.endswith("_"):
            raise NotByRowError
        if name in _SHAPING:
            sizes = [self._bare_code(each) for each in values]
            flat = sizes == ["-1"]
            tail = ".flatten(1)" if flat else f".{name}({whole.part}.shape[0], {', '.join(sizes)})"
            return Said(f"{whole.part}{tail}", self.rank(node))
        if name in ("t", "T"):
            return Said(f"{whole.part}.mT", 2)
        if name in _OVER_ALL and not values and not words:
            return Said(self._over_all(whole, name), 0)
        parts = self._arguments(name, values, words, self.rank(node))
        return Said(f"{whole.part}.{name}({', '.join(parts)})", self.rank(node))

    def _function(
        self,
        node: cst.Call,
        name: str,
        values: Sequence[cst.BaseExpression],
        words: Mapping[str, cst.BaseExpression],
    ) -> Said:
        function = self.page.code(node.func)
        if not values:
            raise NotByRowError
        if name in ("stack", "cat"):
            inside = ", ".join(self.said(each).code for each in elements(values[0]))
            axis = self._arguments(name, values[1:], words, 0) or ["dim=1"]
            return Said(f"{function}([{inside}], {', '.join(axis)})", self.rank(node))
        if all(self.said(each).rank is None for each in values):
            plain = [self.said(each).code for each in values] + self._words(words, shift=False)
            return Said(f"{function}({', '.join(plain)})")
        first = self.said(values[0])
        if name in _OVER_ALL and len(values) == 1 and not words and first.rank is not None:
            return Said(self._over_all(first, name), 0)
        rank = self.rank(node)
        parts = self._arguments(name, values[1:], words, rank)
        return Said(f"{function}({', '.join([first.padded(rank, operand=False), *parts])})", rank)

    def _over_all(self, whole: Said, name: str) -> str:
        if whole.rank == 0:
            return whole.code if name not in ("std", "var") else f"{whole.part} * torch.nan"
        flat = whole.part if whole.rank == 1 else f"{whole.part}.flatten(1)"
        return f"{flat}.{_OVER_ALL[name]}(dim=1)"

    def _arguments(
        self,
        name: str,
        values: Sequence[cst.BaseExpression],
        words: Mapping[str, cst.BaseExpression],
        rank: int,
    ) -> list[str]:
        shift = name in _BY_AXIS
        parts = [
            _later(each)
            if shift and isinstance(each, cst.Integer)
            else self.said(each).padded(rank, operand=False)
            for each in values
        ]
        return parts + self._words(words, shift=shift)

    def _words(self, words: Mapping[str, cst.BaseExpression], *, shift: bool) -> list[str]:
        return [
            f"{word}={_later(each)}"
            if shift and word == "dim" and isinstance(each, cst.Integer)
            else f"{word}={self._bare_code(each)}"
            for word, each in words.items()
        ]

    def _bare_code(self, node: cst.BaseExpression) -> str:
        if self.said(node).rank is not None:
            raise NotByRowError
        return self.page.code(node)


def _later(axis: cst.Integer) -> str:
    """An axis behind the rows'; one that is counted from the end is where it was."""
    return str(axis.evaluated_value + 1)
