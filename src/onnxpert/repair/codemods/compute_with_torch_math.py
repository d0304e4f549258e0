"""`math.sqrt` and its kin on tensors, as torch's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_SAME = frozenset(
    [
        "sqrt",
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "floor",
        "ceil",
        "trunc",
        "erf",
        "erfc",
        "lgamma",
        "atan2",
        "pow",
    ]
)
_OTHER = {"fabs": "abs"}


@codemod("compute-with-torch-math", cures=("CTL405", "CTL402", "INP123"))
def compute_with_torch_math(page: Page) -> Iterator[Edit]:
    """`math` takes the number out of a tensor; torch has the same functions for tensors."""
    for node in page.calls("math.*"):
        assert isinstance(node.func, ast.Attribute)
        name = _OTHER.get(node.func.attr, node.func.attr)
        if (name in _SAME or node.func.attr in _OTHER) and any(map(page.is_tensor, node.args)):
            yield page.edit(node.func, f"torch.{name}")
