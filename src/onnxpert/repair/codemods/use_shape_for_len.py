"""`len` of a tensor as its first size."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page


@codemod("use-shape-for-len", cures=("SHP201", "SHP202", "SHP205"))
def use_shape_for_len(page: Page) -> Iterator[Change]:
    """`len` gives a plain number, which freezes the size; `.shape[0]` stays dynamic."""
    for node in page.calls("len"):
        if page.is_tensor(node.args[0].value):
            yield node, page.expression("{}.shape[0]", node.args[0].value)
