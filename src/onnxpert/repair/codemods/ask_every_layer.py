"""A layer that a tensor chooses of a list: all of them are asked, and the tensor chooses the answer."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below
from onnxpert.repair.source.uses import bound
from onnxpert.repair.source.watching import Kind

_MOST = 16  # layers: beyond that nobody wants to wait for all of them


@codemod("ask-every-layer", cures=("CTL402", "CTL405", "CTL411"))
def ask_every_layer(page: Page) -> Iterator[Change]:
    """Which layer of a list is run cannot depend on a value; which of their results is taken can."""
    for call in page.each(cst.Call):
        if isinstance(call.func, cst.Subscript) and _is_chosen(page, call.func):
            yield call, _asked(page, call, call.func)
    for made in page.each(cst.Assign):
        target, value = made.targets[0].target, made.value
        if isinstance(target, cst.Name) and isinstance(value, cst.Subscript):
            calls = _calls(page, made, target.value) if _is_chosen(page, value) else []
            yield from ((call, _asked(page, call, value)) for call in calls)
            yield from [(made, None)] if calls else []


def _is_chosen(page: Page, node: cst.Subscript) -> bool:
    """Whether a tensor says which of a list of layers it is."""
    place = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(place, cst.Index) or not page.is_tensor(place.value):
        return False
    flat = all(not each.shape for each in page.values(place.value))
    few = all(1 < len(each.keys) <= _MOST for each in page.values(node.value))
    return flat and few and page.was(node.value, Kind.LAYER)


def _calls(page: Page, made: cst.Assign, name: str) -> list[cst.Call]:
    """Those of a layer by its name; [] where it is used for anything else, or is another one elsewhere."""
    function = page.function(made) or page.tree
    uses = [each for each in below(function, cst.Name) if each.value == name]
    calls = [
        around
        for each in uses
        if isinstance(around := page.parent(each), cst.Call) and around.func is each
    ]
    others = [each for each in below(function, cst.Assign) if name in bound(each)]
    return calls if len(calls) == len(uses) - 1 and len(others) == 1 else []


def _asked(page: Page, call: cst.Call, chosen: cst.Subscript) -> cst.BaseExpression:
    layer = page.fresh(call, "layer")
    one = page.code(call.with_changes(func=cst.Name(layer)))
    place = page.code(chosen.slice[0])
    return page.expression(f"torch.stack([{one} for {layer} in {{}}])[{place}]", chosen.value)
