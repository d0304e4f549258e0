"""Lists in the order of a key that tensors give, said with torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, given
from onnxpert.repair.source.watching import Kind

_ALL = "sorted"
_ONE = {"max": "argmax", "min": "argmin"}


@codemod("order-with-torch", cures=("CTL401", "CTL402", "CTL405", "CTL406", "CTL409"))
def order_with_torch(page: Page) -> Iterator[Change]:
    """Python sorts a list by asking tensors which is the larger; torch sorts them by itself."""
    for made in page.each(cst.Assign):
        value, part = made.value, ""
        if isinstance(value, cst.Subscript) and isinstance(value.value, cst.Call):
            part = page.code(value).removeprefix(page.code(value.value))
            value = value.value
        line, target = page.line(made), made.targets[0].target
        if line is None or not isinstance(value, cst.Call) or len(made.targets) > 1:
            continue
        name, (values, _) = page.name(value.func), given(value)
        if name in (_ALL, *_ONE) and len(values) == 1 and (keyed := _keyed(page, value)):
            yield line, list(keyed.statements(page.code(target), page.code(values[0]), name, part))
    for node, value in page.methods("sort"):
        around = page.parent(node)
        line = page.line(around) if isinstance(around, cst.Expr) else None
        if line is not None and isinstance(value, cst.Name) and (keyed := _keyed(page, node)):
            yield line, list(keyed.statements(value.value, value.value, _ALL, ""))


@dataclass(frozen=True)
class _Keyed:
    """What orders a list: the code of one element's key, and by which name it knows the element."""

    page: Page
    node: cst.Call
    element: str
    key: str
    falling: str
    is_tuple: bool  # its elements are, rather than tensors

    def statements(
        self, target: str, held: str, name: str, part: str
    ) -> Iterator[cst.SimpleStatementLine]:
        """`part` is what of the result is taken, in its brackets."""
        page = self.page
        keys = f"torch.stack([{self.key} for {self.element} in {held}])"
        order = page.fresh(self.node, "place" if name in _ONE else "order")
        falling = f"descending={self.falling}, " if self.falling else ""
        method = f"{_ONE[name]}()" if name in _ONE else f"argsort({falling}stable=True)"
        yield page.statement(f"{order} = {keys}.{method}")
        if not self.is_tuple:
            found = f"torch.stack({held})[{order}]{part}"
            single = name in _ONE or (part and ":" not in part)
            yield page.statement(f"{target} = {found if single else f'list({found})'}")
            return
        columns = page.fresh(self.node, "columns")
        tensors = "[torch.as_tensor(each) for each in column]"
        yield page.statement(f"{columns} = [torch.stack({tensors}) for column in zip(*{held})]")
        one = f"tuple(column[{{}}] for column in {columns})"
        first, last = (part, "") if ":" in part else ("", part)
        every = f"[{one.format('place')} for place in {order}{first}]{last}"
        yield page.statement(f"{target} = {one.format(order) + part if name in _ONE else every}")


def _keyed(page: Page, node: cst.Call) -> _Keyed | None:
    """None where the key is none, or not one that tensors give."""
    _, words = given(node)
    key, falling = words.get("key"), words.get("reverse")
    if not isinstance(key, cst.Lambda) or not page.is_tensor(key.body) or len(words) > 2:
        return None
    if any(each.shape for each in page.values(key.body)) or len(key.params.params) != 1:
        return None
    element = key.params.params[0].name.value
    uses = [each for each in below(key.body, cst.Name) if each.value == element]
    said = page.code(falling) if falling is not None else ""
    whole = any(page.is_tensor(each) for each in uses)
    single = uses and not any(page.was(each, Kind.INT, Kind.FLOAT) for each in uses)
    return _Keyed(page, node, element, page.code(key.body), said, not whole) if single else None
