"""`torch.tensor(x.shape[0])` as torch.full, which keeps the size a symbol."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, elements, given
from onnxpert.repair.source.watching import Kind


@codemod("fill-sizes", cures=("SHP201", "SHP205", "INP123"))
def fill_sizes(page: Page) -> Iterator[Change]:
    """A tensor made of a size is a constant; one that is filled with the size follows it."""
    for node in page.calls("torch.tensor", "torch.as_tensor"):
        values, keywords = given(node)
        if len(values) != 1 or not _about_sizes(page, values[0]):
            continue
        rest = "".join(f", {name}={page.code(each)}" for name, each in keywords.items())
        if elements(values[0]):
            parts = ", ".join(
                f"torch.full((), {page.code(each)}{rest})" for each in elements(values[0])
            )
            yield node, page.expression(f"torch.stack([{parts}])")
        elif page.was(values[0], Kind.INT, Kind.FLOAT):
            yield node, page.expression(f"torch.full((), {{}}{rest})", values[0])


def _about_sizes(page: Page, value: cst.BaseExpression) -> bool:
    """Reads a shape, or a name that was assigned from one."""
    assigned = below(page.function(value) or value, cst.Assign)
    sized = {
        name.value
        for node in assigned
        if _reads(page.code(node.value))
        for target in node.targets
        for name in below(target, cst.Name)
    }
    return _reads(page.code(value)) or any(name.value in sized for name in below(value, cst.Name))


def _reads(code: str) -> bool:
    return ".shape" in code or ".size(" in code
