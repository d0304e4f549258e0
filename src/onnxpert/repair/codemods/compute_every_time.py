"""What is kept from one call to the next, computed in each of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, dotted, everything, small


@codemod("compute-every-time", cures=("SHP201", "SHP202", "STA302", "CTL406"))
def compute_every_time(page: Page) -> Iterator[Change]:
    """What was made for the sizes of one call fits no other; a file remembers nothing."""
    for branch in page.each(cst.If):
        *before, end = branch.body.body
        made = [*small(end)]
        target = made[0].targets[0].target if isinstance(made[0], cst.Assign) else None
        base = target.value if isinstance(target, cst.Subscript) else target
        kept = dotted(base) if base is not None else ""
        if len(made) > 1 or branch.orelse or not kept or kept not in page.code(branch.test):
            continue
        if before and not isinstance(branch.body, cst.IndentedBlock):  # all in one line
            continue
        if isinstance(target, cst.Name) or not isinstance(page.parent(branch), cst.IndentedBlock):
            continue
        name = page.fresh(branch, kept.rpartition(".")[2].strip("_").lower())
        new = page.statement(f"{name} = {{}}", made[0].value)  # type: ignore[attr-defined]
        yield branch, [*before, new]
        for use in everything(page.function(branch) or branch):
            if isinstance(use, type(target)) and page.code(use) == page.code(target or use):
                yield use, cst.Name(name)
