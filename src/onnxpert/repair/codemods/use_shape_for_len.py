"""`len` of a tensor as its first size."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@codemod("use-shape-for-len", cures=("SHP201", "SHP202", "SHP205"))
def use_shape_for_len(page: Page) -> Iterator[Edit]:
    """`len` gives a plain number, which freezes the size; `.shape[0]` stays dynamic."""
    for node in page.calls("len"):
        if len(node.args) == 1 and page.is_tensor(node.args[0]):
            yield page.edit(node, f"{page.operand(node.args[0])}.shape[0]")
