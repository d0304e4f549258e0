"""What a function is given, copied before it is changed in place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, small


@codemod("leave-inputs-alone", cures=("STA304",))
def leave_inputs_alone(page: Page) -> Iterator[Change]:
    """A file cannot change its caller's tensors; the same on a copy gives the same outputs."""
    own: set[tuple[cst.CSTNode | None, str]] = set()  # names that are the function's own by then
    for line in page.each(cst.SimpleStatementLine):
        for node in small(line):
            name, in_place = _changed(node)
            known = (page.function(line), name)
            if in_place and name in page.parameters(line) and known not in own:
                copy = page.statement(f"{name} = {name}.clone()")
                yield line, [copy, line.with_changes(leading_lines=[])]
            own.add(known)


def _changed(node: cst.CSTNode) -> tuple[str, bool]:
    """The name that a statement assigns or writes to, and whether what it was before is changed."""
    base: cst.CSTNode | None
    call = node.value if isinstance(node, cst.Expr) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        method = call.func.attr.value
        base, in_place = call.func.value, method.endswith("_") and not method.endswith("__")
    else:
        base = node.targets[0].target if isinstance(node, cst.Assign) else None
        base = node.target if isinstance(node, cst.AugAssign) else base
        in_place = isinstance(node, cst.AugAssign) or isinstance(base, cst.Subscript)
    while isinstance(base, cst.Subscript):
        base = base.value
    return (base.value, in_place) if isinstance(base, cst.Name) else ("", False)
