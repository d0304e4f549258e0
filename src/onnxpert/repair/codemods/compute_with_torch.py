"""What Python's own functions and `math` compute of tensors, with torch's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given
from onnxpert.repair.source.turn import NotByRowError, Turn

_OF_ONE = {
    "max": "{}.max()", "min": "{}.min()", "sum": "{}.sum(0)", "any": "{}.any()", "all": "{}.all()",
    "round": "torch.round({})", "sorted": "torch.sort({}, stable=True).values",
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

    for node in page.calls(*_OF_ONE, "math.*"):
        values, words = given(node)
        name, tensors = page.name(node.func), [page.is_tensor(each) for each in values]
        if name in _BY_KEY and len(values) == 1 and words.keys() <= {"key", "reverse"}:
            yield from _by_key(page, node, values[0], words)
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
    if not counted or not isinstance(key, cst.Lambda) or not page.is_tensor(key.body):
        return
    try:
        keys = Turn(page, key.params, places).mapped(key.body)
    except NotByRowError:
        return
    falling = f", descending={page.code(words['reverse'])}" if "reverse" in words else ""
    yield node, page.expression(_BY_KEY[name].replace(")", f"{falling})"), page.expression(keys))
