"""What one turn of a loop reads of its tensors: their rows, each as a parameter of a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst
import libcst.matchers as m

from onnxpert.repair.source.page import Page, below, dotted, given, names_in


class NotByRowError(Exception):
    """The loop is not one over the rows of tensors, or does more than to compute them."""


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

    def said(self, node: Any) -> Any:
        return node.visit(self)

    def whole(self, name: str) -> str:
        """The tensor whose row has that name."""
        return self._rows[name][0]

    def mapped(self, node: cst.BaseExpression) -> str:
        """An expression of one turn, for all of them."""
        new = self.said(node)
        parameters, call = self.call("{}", [new], [0])
        whole, axis = self._rows.get(self._page.code(new), ("", 0))
        if whole and not axis:
            return whole
        return call.replace("{}", f"lambda {', '.join(parameters)}: {self._page.code(new)}", 1)

    def call(
        self, function: str, body: Sequence[cst.CSTNode], axes: Sequence[int]
    ) -> tuple[list[str], str]:
        """The parameters of a function with this body, and torch.vmap of it over all rows.

        What it gives has its rows on these axes."""
        read = {name for each in body for name in names_in(each)}
        rows = {name: row for name, row in self._rows.items() if name in read}
        if not rows:
            raise NotByRowError
        if self.index in read:
            rows = {self.index: (self._every, 0), **rows}
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

    def row(self, node: cst.Subscript) -> tuple[str, int, list[cst.BaseSlice]]:
        """The name for `x[i]` in `x[i, ...]`, the axis of the rows, and what else is in the brackets."""
        places = [each.slice for each in node.slice]
        codes = [self._page.code(each) for each in places]
        if not self.index or self.index not in codes:
            raise NotByRowError
        at = codes.index(self.index)
        whole, axis, rest = self._page.code(node.value), at, [*places[:at], *places[at + 1 :]]
        if any(code != ":" for code in codes[:at]):
            if any(isinstance(each, cst.Slice) for each in places[:at]):
                raise NotByRowError
            whole, axis, rest = f"{whole}[{', '.join(codes[:at])}]", 0, places[at + 1 :]
        while rest and self._page.code(rest[-1]) == ":":
            rest.pop()
        for name, row in self._rows.items():
            if row == (whole, axis):
                return name, axis, rest
        name = f"{dotted(node.value).rpartition('.')[2] or 'row'}_{self.index}"
        name = self._page.fresh(node, name, self._rows.keys())
        self._rows[name] = whole, axis
        return name, axis, rest

    def leave_Subscript(  # noqa: N802 - the name is libcst's
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        whole, places = updated_node.value, [each.slice for each in updated_node.slice]
        codes = [self._page.code(each.slice) for each in original_node.slice]
        around = self._page.function(original_node)
        inner = around is not None and self._page.function(around) is not None
        own = inner and self._page.code(original_node.value) in self._page.parameters(original_node)
        if self._page.is_tensor(original_node.value) and self.index in codes and not own:
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
    if name == "range" and len(values) == 1:
        yield f"{_EVERY}{page.code(values[0])})"
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
