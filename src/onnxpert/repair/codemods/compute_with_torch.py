"""What Python's own functions and `math` compute of tensors, with torch's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.page import Page, elements, given
from onnxpert.repair.source.turn import Turn

_OF_ONE = {
    "max": "{}.max()", "min": "{}.min()", "sum": "{}.sum(0)", "any": "{}.any()", "all": "{}.all()",
    "round": "torch.round({})", "sorted": "torch.sort({}).values",
}  # fmt: skip
_OF_TWO = {"max": "torch.maximum({}, {})", "min": "torch.minimum({}, {})"}
_BY_KEY = {"max": "{}.argmax(0)", "min": "{}.argmin(0)", "sorted": "{}.argsort(stable=True)"}
_BOUNDED = {"max": "{}.clamp(min={})", "min": "{}.clamp(max={})"}
_OF_MATH = {"fabs": "abs", "degrees": "rad2deg", "radians": "deg2rad"}  # the others have one name


@codemod(
    "compute-with-torch",
    cures=("CTL405", "CTL401", "CTL402", "CTL406", "CTL409", "SHP201", "INP123"),
)
def compute_with_torch(page: Page) -> Iterator[Change]:
    """`max`, `sum` and `math` take the numbers out of a tensor; torch's own functions leave them in."""
    import torch

    for node in page.calls("next"):
        yield from _first(page, node)
    for node in page.calls(*_OF_ONE, "math.*"):
        values, words = given(node)
        name, tensors = page.name(node.func), [page.is_tensor(each) for each in values]
        if name in _BY_KEY and len(values) == 1 and words.keys() <= {"key", "reverse"}:
            yield from _by_key(page, node, values[0], words)
        if len(values) == 1 and isinstance(values[0], (cst.GeneratorExp, cst.ListComp)):
            yield from _of_rows(page, node, values[0], name)
        if name == "sorted" and tensors == [True] and words.keys() == {"reverse"}:
            falling = page.code(words["reverse"])
            said = f"torch.sort({{}}, descending={falling}).values"
            yield node, page.expression(said, *values)
        if words or not any(tensors):
            continue
        if name.startswith("math."):
            own = _OF_MATH.get(name[5:], name[5:])
            if hasattr(torch, own):
                yield node.func, page.expression(f"torch.{own}")
        elif len(values) == 1:
            yield node, page.expression(_OF_ONE[name], *values)
        elif len(values) == 2 and name in _OF_TWO:
            template = _OF_TWO if all(tensors) else _BOUNDED
            in_order = values if tensors[0] else reversed(values)
            yield node, page.expression(template[name], *in_order)


def _by_key(
    page: Page, node: cst.Call, places: cst.BaseExpression, words: Mapping[str, cst.BaseExpression]
) -> Iterator[Change]:
    """The first, the last or all of `range(many)`, in the order of the key of each."""
    key, name = words.get("key"), page.name(node.func)
    counted = isinstance(places, cst.Call) and page.name(places.func) == "range"
    if not counted or not isinstance(key, cst.Lambda):
        return
    parts = elements(key.body) or [key.body]
    counted_last = page.code(parts[-1]) == page.code(key.params.params[0].name)
    if len(parts) > 1 and counted_last and "reverse" not in words:
        parts.pop()  # what is equal stays in its order
    if not all(map(page.is_tensor, parts)) or (len(parts) > 1 and name != "sorted"):
        return
    falling = f", descending={page.code(words['reverse'])}" if "reverse" in words else ""
    said = _BY_KEY[name].replace(")", f"{falling})")
    with contextlib.suppress(NotByRowError):
        turn = Turn(page, key.params, places)
        *rest, last = (page.expression(turn.mapped(each)) for each in parts)
        # By the last key first: a stable sort by one before leaves those that are equal in this order.
        order, kept = page.expression(said, last), page.fresh(node, "places")
        for each in reversed(rest):
            inner = page.expression(f"{{}}[{kept}]", each)
            within = page.expression(said, inner)
            order = page.expression(f"({kept} := {{}})[{{}}]", order, within)
        yield node, order


def _of_rows(page: Page, node: cst.Call, made: cst.BaseComp, name: str) -> Iterator[Change]:
    """What a comprehension over the rows of tensors gives; a sum has 0 for those that it leaves out."""
    one: cst.BaseExpression = made.elt  # type: ignore[attr-defined]
    tests = [each.test for each in made.for_in.ifs]
    if made.for_in.inner_for_in or len(tests) > (name == "sum"):
        return
    if not all(map(page.is_tensor, tests or [one])):
        return
    for test in tests:
        one = page.expression("torch.where({}, {}, 0)", test, one)
    with contextlib.suppress(NotByRowError):
        rows = Turn(page, made.for_in.target, made.for_in.iter).mapped(one)
        yield node, page.expression(_OF_ONE[name], page.expression(rows))


def _first(page: Page, node: cst.Call) -> Iterator[Change]:
    """The number of the first row of which something is true."""
    values, _ = given(node)
    made = values[0] if len(values) == 2 else None
    if not isinstance(made, cst.GeneratorExp) or len(made.for_in.ifs) != 1:
        return
    with contextlib.suppress(NotByRowError):
        turn = Turn(page, made.for_in.target, made.for_in.iter)
        if page.code(made.elt) == turn.index and page.is_tensor(made.for_in.ifs[0].test):
            found = page.expression(turn.mapped(made.for_in.ifs[0].test))
            said = "torch.where({}.any(), {}.int().argmax(0), {})"
            yield node, page.expression(said, found, found, values[1])
