"""`print` and logging in forward, left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, names_in
from onnxpert.repair.source.printing import prints

# Calls that do nothing but give a value.
_GIVING = frozenset(
    {"len", "set", "int", "float", "bool", "str", "sum", "min", "max", "abs", "round", "sorted",
     "list", "tuple", "torch", "numpy", "math"}
)  # fmt: skip


@codemod("stop-printing", cures=("STA306",))
def stop_printing(page: Page) -> Iterator[Change]:
    """The file prints nothing, and a value that is printed has to be taken out of its tensor."""
    blocks: list[cst.If | cst.For] = [*page.each(cst.If), *page.each(cst.For)]
    gone: list[cst.CSTNode] = []
    for block in blocks:
        whole = isinstance(page.parent(block), cst.IndentedBlock)
        if whole and prints(block) and page.has_run(block):
            gone.append(block)
    gone += [node for node in page.each(cst.Expr) if prints(node) and page.has_run(node)]
    for node in (*gone, *_only_printed(page, gone)):
        yield node, None


def _only_printed(page: Page, gone: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements that give names values for nobody but those that go, the last of them first."""
    going = list(gone)
    while True:
        read = {name for each in going for name in names_in(each)}
        more = next(
            (made for made in page.each(cst.Assign) if _gives(page, made, read, going)), None
        )
        if more is None:
            return
        going.append(more)
        yield more


def _gives(page: Page, made: cst.Assign, read: Set[str], going: Sequence[cst.CSTNode]) -> bool:
    """Whether it does nothing but to give a value to a name that only these read."""
    target = made.targets[0].target
    if len(made.targets) > 1 or not isinstance(target, cst.Name) or target.value not in read:
        return False
    if made in going or not all(_only_gives(page, each) for each in below(made.value, cst.Call)):
        return False
    inside = {id(name) for each in (*going, made) for name in below(each, cst.Name)}
    uses = [e for e in below(page.function(made) or page.tree, cst.Name) if e.value == target.value]
    return all(id(each) in inside for each in uses)


def _only_gives(page: Page, call: cst.Call) -> bool:
    function = call.func
    first = page.name(function).partition(".")[0]
    if isinstance(function, cst.Attribute) and page.is_tensor(function.value):
        return not function.attr.value.endswith("_")
    return first in _GIVING
