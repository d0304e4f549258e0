"""An entry of a list or a dict that a tensor's value chooses, said with `if`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page
from onnxpert.repair.source.watching import Kind

_MOST = 8  # entries: beyond that nobody wants to read it


@codemod("compare-with-each-key", cures=("CTL405", "CTL402", "CTL411"))
def compare_with_each_key(page: Page) -> Iterator[Change]:
    """A list of names or layers is not in the file; which of them it is, each comparison can say."""
    for node in page.each(cst.Subscript):
        index = node.slice[0].slice if len(node.slice) == 1 else None
        held = {each.keys for each in page.values(node.value)}
        keys = held.pop() if len(held) == 1 else ()
        chosen = isinstance(index, cst.Index) and {
            each.shape for each in page.values(index.value) if page.is_tensor(index.value)
        } == {()}
        if not chosen or not isinstance(index, cst.Index) or not 1 < len(keys) <= _MOST:
            continue
        if page.was(node.value, Kind.NUMBERS):  # a tensor can hold them
            continue
        whole, place = page.code(node.value), page.code(index.value)
        *first, last = (f"{whole}[{key}]" for key in keys)
        tests = [f"{one} if {place} == {key} else " for one, key in zip(first, keys, strict=False)]
        yield node, page.expression("".join(tests) + last)
