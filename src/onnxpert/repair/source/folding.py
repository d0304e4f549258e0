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
    """What is made of the lists later, of what counts alone. Raises NotByRowError for any other use."""
    inside = set(below(loop, cst.Name))
    for name, taken in lists.items():
        for use in below(page.function(loop) or loop, cst.Name):
            if use.value == name and page.values(use) and use not in inside:
                changes = list(joined(page, use, _FOLDED.format(name, taken)))
                if not changes:
                    raise NotByRowError
                yield from changes
