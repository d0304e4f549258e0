"""Values that are taken out of tensors, left in them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.logs import is_logged
from onnxpert.repair.source.page import Page, elements, given
from onnxpert.repair.source.printing import is_printed
from onnxpert.repair.source.watching import Kind

_CASTS = {"int": "int64", "bool": "bool"}
_KEYED = ("set", "frozenset", "dict.fromkeys", "collections.Counter")
_STACK = "torch.stack([torch.as_tensor(each) for each in {}])"


@codemod(
    "keep-as-tensor",
    cures=("CTL402", "CTL405", "CTL401", "INP122", "INP123", "CAP001", "STA301"),
)
def keep_as_tensor(page: Page) -> Iterator[Change]:
    """A tensor computes like the numbers in it, and without leaving the graph."""
    for node, value in page.methods("item", "tolist"):
        left = node.args or _is_keyed(page, node) or _is_for_others(page, node)
        if page.is_tensor(value) and not left:
            yield node, value if page.code(node.func).endswith("tolist") else _scalar(page, value)
    for node in page.calls("float", "int", "bool"):
        value = node.args[0].value if node.args else node
        if page.is_tensor(value) and not _is_for_others(page, node):
            seen = {each.dtype for each in page.values(value)}
            floats = all(name.startswith(("float", "bfloat")) for name in seen)
            dtype = _CASTS.get(page.name(node.func), "" if floats else "float32")
            is_so = not dtype or seen == {dtype}
            yield node, _scalar(page, value, "" if is_so else f".to(torch.{dtype})")
    for attribute in page.each(cst.Attribute):
        if attribute.attr.value == "data" and page.is_tensor(attribute):  # noted where it is read
            yield attribute, page.expression("{}.detach()", attribute.value)
    for node in page.each(cst.Call):
        yield from _made(page, node)
    for part in page.each(cst.Subscript):
        place = part.slice[0].slice if len(part.slice) == 1 else None
        if isinstance(place, cst.Index) and page.is_tensor(part.value):
            yield from _places(page, place.value)


def _is_for_others(page: Page, node: cst.Call) -> bool:
    """Whether it is printed or kept for somebody outside, who wants a number."""
    return is_printed(page, node) or is_logged(page, node)


def _is_keyed(page: Page, node: cst.Call) -> bool:
    """Whether a set or a dict is made of it: of two tensors none is the same, whatever is in them."""
    around = page.parent(node)
    call = page.parent(around) if isinstance(around, cst.Arg) else None
    return isinstance(call, cst.Call) and page.name(call.func) in _KEYED


def _places(page: Page, listed: cst.BaseExpression) -> Iterator[Change]:
    """A list of places with tensors in it: torch would take each of them for an axis of its own."""
    kinds = {each.kind for each in page.values(listed)}
    if kinds == {Kind.TENSORS}:
        yield listed, page.expression("torch.stack({})", listed)
    elif Kind.VALUES in kinds and kinds <= {Kind.NUMBERS, Kind.TENSORS, Kind.VALUES}:
        yield listed, page.expression(_STACK, listed)


def _scalar(page: Page, value: cst.BaseExpression, cast: str = "") -> cst.BaseExpression:
    flat = all(each.shape == () for each in page.values(value))
    return page.expression(("{}" if flat else "{}.reshape(())") + cast, value)


def _made(page: Page, node: cst.Call) -> Iterator[Change]:
    """A tensor that is made anew of tensors, or of a list of them, is a clone or a stack."""
    values, words = given(node)
    if len(values) != 1 or words.keys() - {"dtype", "device"}:
        return
    cast = "".join(f".to({page.code(each)})" for each in words.values())
    if page.was(node.func, Kind.MAKER):
        cast = f".to(torch.{page.values(node.func)[0].dtype})"
    elif page.name(node.func) not in ("torch.tensor", "torch.as_tensor"):
        return
    (value,), parts = values, elements(values[0])
    if page.is_tensor(value):
        yield node, page.expression(f"{{}}.detach().clone(){cast}", value)
    elif parts and all(map(page.is_tensor, parts)):
        holes = ", ".join(["{}.reshape(())"] * len(parts))
        yield node, page.expression(f"torch.stack([{holes}]){cast}", *parts)
    elif page.was(value, Kind.TENSORS):
        deep = page.values(value)[0].depth > 1
        rows = f"[torch.stack(each) for each in {page.code(value)}]" if deep else page.code(value)
        yield node, page.expression(f"torch.stack({rows}){cast}")
    elif page.was(value, Kind.VALUES):
        yield node, page.expression(f"{_STACK}{cast}", value)
