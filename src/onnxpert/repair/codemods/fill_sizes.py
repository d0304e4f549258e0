"""`torch.tensor(x.shape[0])` as torch.full, which keeps the size a symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page
from onnxpert.repair.source.watching import Kind


@codemod("fill-sizes", cures=("SHP201", "SHP205", "INP123"))
def fill_sizes(page: Page) -> Iterator[Edit]:
    """A tensor made of a size is a constant; one that is filled with the size follows it."""
    for node in page.calls("torch.tensor", "torch.as_tensor"):
        if not node.args or not _about_sizes(page, node.args[0]):
            continue
        rest = "".join(f", {page.code(each)}" for each in node.keywords)
        value = node.args[0]
        if isinstance(value, (ast.List, ast.Tuple)) and value.elts:
            parts = ", ".join(f"torch.full((), {page.code(each)}{rest})" for each in value.elts)
            yield page.edit(node, f"torch.stack([{parts}])")
        elif page.was(value, Kind.INT, Kind.FLOAT):
            yield page.edit(node, f"torch.full((), {page.code(value)}{rest})")


def _about_sizes(page: Page, value: ast.expr) -> bool:
    """Reads a shape, or a name that was assigned from one."""
    function = page.function(value)
    sized = {
        name.id
        for node in ast.walk(function or value)
        if isinstance(node, ast.Assign) and _reads(page.code(node.value))
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    names = {name.id for name in ast.walk(value) if isinstance(name, ast.Name)}
    return _reads(page.code(value)) or bool(names & sized)


def _reads(code: str) -> bool:
    return ".shape" in code or ".size(" in code
