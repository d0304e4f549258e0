"""Lists to which some turns of a loop add and others do not: all add, and a list of answers says which count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from onnxpert.repair.source.change import Change
from onnxpert.repair.source.counting import NotByRowError
from onnxpert.repair.source.loop import joined
from onnxpert.repair.source.page import Page, below, dotted

_FOLDED = "torch.stack({})[torch.stack({})]"


def appended(node: cst.CSTNode) -> str:
    """The name of the list of which a statement is `name.append(...)`, "" for any other."""
    call = node.value if isinstance(node, cst.Expr) else None
    name, _, method = dotted(call.func if isinstance(call, cst.Call) else call).rpartition(".")
    return name if method == "append" and name.isidentifier() else ""


def folded(page: Page, loop: cst.CSTNode, lists: Mapping[str, str]) -> Iterator[Change]:
    """What is made of the lists later, of what counts alone. Raises NotByRowError for any other use,
    and for any in the loop: what is in the list there is no longer what was chosen."""
    inside = set(below(loop, cst.Name))
    for name, taken in lists.items():
        for use in below(page.function(loop) or loop, cst.Name):
            if use.value == name and not _is_written(page, use):
                stacked = _FOLDED.format(name, taken)
                changes = [] if use in inside else list(joined(page, use, stacked))
                if not changes:
                    raise NotByRowError
                yield from changes


def _is_written(page: Page, name: cst.Name) -> bool:
    """Whether a name is given a list or the list another element; or is that of something else."""
    around = page.parent(name)
    if isinstance(around, cst.Attribute):
        return around.attr is name or around.attr.value == "append"
    keyword = isinstance(around, cst.Arg) and around.keyword is name
    return keyword or isinstance(around, (cst.AssignTarget, cst.AnnAssign))
