"""A list that is made elsewhere: by a comprehension that has a name, or by a loop that adds to it."""

from __future__ import annotations

import libcst as cst

from onnxpert.repair.source.folding import appended
from onnxpert.repair.source.page import Page, below, given, small
from onnxpert.repair.source.uses import bound


def listed(
    page: Page, node: cst.BaseExpression
) -> tuple[cst.BaseExpression, tuple[cst.CSTNode, ...]]:
    """The comprehension that a value is, and the statements that nobody needs then.

    Of anything else the value itself."""
    function = page.function(node)
    if not isinstance(node, cst.Name) or function is None:
        return node, ()
    uses = [each for each in below(function, cst.Name) if each.value == node.value]
    made = [each for each in _statements(function) if bound(each) == [node.value]]
    loops = [each for each in below(function, cst.For) if _adds(each) == node.value]
    if len(made) != 1 or page.function(made[0]) is not function:
        return node, ()
    (first,), value = made, getattr(made[0], "value", None)
    if isinstance(value, cst.ListComp) and len(uses) == 2:
        return value, (first,)
    empty = value is not None and page.code(value) in ("[]", "list()")
    if not empty or len(loops) != 1 or len(uses) != 3:
        return node, ()
    (loop,) = loops
    (call,) = (each for each in below(loop.body, cst.Call) if _is_append(each, node.value))
    head = cst.CompFor(loop.target, loop.iter)
    return cst.ListComp(given(call)[0][0], head), (first, loop)


def _statements(function: cst.FunctionDef) -> list[cst.Assign | cst.AnnAssign]:
    return [*below(function, cst.Assign), *below(function, cst.AnnAssign)]


def _adds(loop: cst.For) -> str:
    """The list to which a loop adds one value in each turn, and does nothing else."""
    lines = list(small(loop.body))
    return appended(lines[0]) if len(lines) == 1 and loop.orelse is None else ""


def _is_append(call: cst.Call, name: str) -> bool:
    place = call.func
    owner = place.value if isinstance(place, cst.Attribute) else None
    return isinstance(owner, cst.Name) and owner.value == name and len(call.args) == 1
