"""What one turn of a loop reads of its tensors: their rows, each as a parameter of a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst
import libcst.matchers as m

from onnxpert.repair.source.counting import Count, NotByRowError, count
from onnxpert.repair.source.page import Page, below, dotted, given, names_in


class Turn(cst.CSTTransformer):
    """The code of a turn with `x_i` for `x[i]`, and the tensors that these come from."""

    def __init__(self, page: Page, target: cst.CSTNode, over: cst.BaseExpression) -> None:
        """From the head of a loop. Raises NotByRowError where it is not over rows."""
        super().__init__()
        names, sources = [each.value for each in below(target, cst.Name)], [*_sources(page, over)]
        if len(names) != len(sources):
            raise NotByRowError
        heads = dict(zip(names, sources, strict=True))
        self._page = page
        self.index = next((name for name, code in heads.items() if code.startswith(_EVERY)), "")
        self._every = heads.pop(self.index, "")
        self._rows = {name: (code, 0) for name, code in heads.items()}  # parameter -> tensor, axis
        self._count = count(page, over) or Count("0", "")
        # Whether the number of turns may depend on the inputs: that of `range(10)` does not.
        self.is_open = bool(self._rows) or self._count.is_open

    def said(self, node: Any) -> Any:
        return node.visit(self)

    def whole(self, name: str) -> str:
        """The tensor whose row has that name."""
        return self._rows[name][0]

    def mapped(self, node: cst.BaseExpression) -> str:
        """An expression of one turn, for all of them."""
        if places := self._places(node):
            return places
        new = self.said(node)
        parameters, call = self.call("{}", [new], [0])
        whole, axis = self._rows.get(self._page.code(new), ("", 0))
        if whole and not axis:
            return whole
        return call.replace("{}", f"lambda {', '.join(parameters)}: {self._page.code(new)}", 1)

    def _places(self, node: cst.BaseExpression) -> str:
        """`x[places]` for `x[place]`, where each turn has a place; "" for anything else."""
        if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
            return ""
        place, whole = self._page.code(node.slice[0]), self._page.code(node.value)
        own = {self.index, *self._rows} & names_in(node.value)
        code, axis = self._rows.get(place, ("", 0))
        return f"{whole}[{code}]" if code and not axis and not own else ""

    def call(
        self, function: str, body: Sequence[cst.CSTNode], axes: Sequence[int]
    ) -> tuple[list[str], str]:
        """The parameters of a function with this body, and torch.vmap of it over all rows.

        What it gives has its rows on these axes."""
        rows = self._read(body)
        if not rows.keys() - {self.index}:
            raise NotByRowError
        inner = [axis for _, axis in rows.values()]
        words = f", in_dims={_axes(inner)}" if any(inner) else ""
        words += f", out_dims={_axes(axes)}" if any(axes) else ""
        # A layer may draw numbers in training, and vmap wants to be told of that.
        if any(
            dotted(each.func).startswith("self.") for node in body for each in below(node, cst.Call)
        ):
            words += ', randomness="different"'
        given_rows = ", ".join(code for code, _ in rows.values())
        return list(rows), f"torch.vmap({function}{words})({given_rows})"

    def rows(self, body: Sequence[cst.CSTNode]) -> dict[str, str]:
        """The parameters of a function with this body, each with the tensor whose rows it is one of."""
        read = self._read(body) or {self.index: (self._every, 0)}
        return {
            name: f"{code}.movedim({axis}, 0)" if axis else code
            for name, (code, axis) in read.items()
        }

    def _read(self, body: Sequence[cst.CSTNode]) -> dict[str, tuple[str, int]]:
        read = {name for each in body for name in names_in(each)}
        rows = {name: row for name, row in self._rows.items() if name in read}
        return {self.index: (self._every, 0), **rows} if self.index in read else rows

    def row(self, node: cst.Subscript) -> tuple[str, int, list[cst.BaseSlice]]:
        """The name for `x[i]` in `x[i, ...]`, the axis of the rows, and what else is in the brackets."""
        places = [each.slice for each in node.slice]
        codes = [self._page.code(each) for each in places]
        offsets = self._offsets(places)
        if not any(each is not None for each in offsets):
            raise NotByRowError
        at = next(place for place, each in enumerate(offsets) if each is not None)
        offset = offsets[at] or 0
        whole, axis, rest = self._page.code(node.value), at, [*places[:at], *places[at + 1 :]]
        if any(code != ":" for code in codes[:at]):
            if any(isinstance(each, cst.Slice) for each in places[:at]):
                raise NotByRowError
            whole, axis, rest = f"{whole}[{', '.join(codes[:at])}]", 0, places[at + 1 :]
        while rest and self._page.code(rest[-1]) == ":":
            rest.pop()
        whole += self._count.part(axis, offset)
        for name, row in self._rows.items():
            if row == (whole, axis):
                return name, axis, rest
        name = f"{dotted(node.value).rpartition('.')[2] or 'row'}_{self.index}"
        name += f"_{'plus' if offset > 0 else 'minus'}_{abs(offset)}" if offset else ""
        name = self._page.fresh(node, name, self._rows.keys())
        self._rows[name] = whole, axis
        return name, axis, rest

    def _offsets(self, places: Sequence[cst.BaseSlice]) -> list[int | None]:
        """1 for `i + 1` in the brackets, None for what is not the number of the turn."""
        return [
            self._offset(each.value) if isinstance(each, cst.Index) else None for each in places
        ]

    def _offset(self, place: cst.BaseExpression) -> int | None:
        if isinstance(place, cst.Name):
            return 0 if self.index and place.value == self.index else None
        if not isinstance(place, cst.BinaryOperation) or not isinstance(place.right, cst.Integer):
            return None
        signs = ((cst.Add, 1), (cst.Subtract, -1))
        sign = next((sign for kind, sign in signs if isinstance(place.operator, kind)), 0)
        own = sign and self._offset(place.left) == 0
        return sign * place.right.evaluated_value if own else None

    def leave_Subscript(  # noqa: N802 - the name is libcst's
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        whole, places = updated_node.value, [each.slice for each in updated_node.slice]
        offsets = self._offsets([each.slice for each in original_node.slice])
        counted = any(each is not None for each in offsets)
        around = self._page.function(original_node)
        inner = around is not None and self._page.function(around) is not None
        own = inner and self._page.code(original_node.value) in self._page.parameters(original_node)
        if self._page.is_tensor(original_node.value) and counted and not own:
            name, _, rest = self.row(original_node)
            whole, places = cst.Name(name), [self.said(each) for each in rest]
        # A place that is another one in each turn is a tensor, which Python would ask for its number.
        given_here = {self.index, *self._rows}
        turning = [
            isinstance(each, cst.Index) and bool(given_here & names_in(each)) for each in places
        ]
        for at, each in enumerate(places):
            if turning[at] and isinstance(each, cst.Index):
                places[at] = cst.Index(self._page.expression("{}[None]", each.value))
        slices = [cst.SubscriptElement(each) for each in places]
        new = updated_node.with_changes(value=whole, slice=slices) if slices else whole
        if not any(turning):
            return new
        axis = sum(isinstance(each, cst.Slice) for each in places[: turning.index(True)])
        return self._page.expression(f"{{}}.squeeze({axis})", new)

    def leave_BinaryOperation(  # noqa: N802 - ditto
        self,
        original_node: cst.BinaryOperation,  # noqa: ARG002 - libcst gives it
        updated_node: cst.BinaryOperation,
    ) -> cst.BaseExpression:
        found: Any = m.extract(updated_node, _PADDED)
        if found is None or not found["many"].deep_equals(found["less"]):
            return updated_node
        parts = (found[each] for each in ("whole", "many", "one", "other"))
        return self._page.expression("torch.where(torch.arange({}) < {}, {}, {})", *parts)


_EVERY = "torch.arange("


def _listed(name: str, many: Any) -> m.BinaryOperation:
    one = m.Element(m.SaveMatchedNode(m.DoNotCare(), name))
    return m.BinaryOperation(m.List([one]), m.Multiply(), many)


# `[one] * many + [other] * (whole - many)`: a list that is as long in every turn
_PADDED = m.BinaryOperation(
    _listed("one", m.SaveMatchedNode(m.DoNotCare(), "many")),
    m.Add(),
    _listed(
        "other",
        m.BinaryOperation(
            m.SaveMatchedNode(m.DoNotCare(), "whole"),
            m.Subtract(),
            m.SaveMatchedNode(m.DoNotCare(), "less"),
        ),
    ),
)


def _axes(axes: Sequence[int]) -> str:
    return str(axes[0]) if len(set(axes)) == 1 else f"({', '.join(map(str, axes))})"


def _sources(page: Page, over: cst.BaseExpression) -> Iterator[str]:
    """The tensors whose rows a loop's head gives, and the numbers of the rows where it counts them."""
    name = page.name(over.func) if isinstance(over, cst.Call) else ""
    values = given(over)[0] if isinstance(over, cst.Call) else []
    if (counted := count(page, over)) is not None:
        yield counted.every(_EVERY)
    elif name == "enumerate" and len(values) == 1:
        inner = list(_sources(page, values[0]))
        yield from (f"{_EVERY}{inner[0]}.shape[0])", *inner)
    elif name == "zip":
        for each in values:
            yield from _sources(page, each)
    else:
        yield _tensor(page, over)


def _tensor(page: Page, node: cst.BaseExpression) -> str:
    """The code of a tensor, or of one that a list was made of."""
    axis = 0
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        values, words = given(node)
        of = words.get("dim", values[0] if values else cst.Integer("0"))
        if node.func.attr.value in ("tolist", "unbind") and isinstance(of, cst.Integer):
            node, axis = node.func.value, of.evaluated_value
    if not page.is_tensor(node) or not isinstance(node, (cst.Name, cst.Attribute, cst.Call)):
        raise NotByRowError
    return page.code(node) + (f".movedim({axis}, 0)" if axis else "")
