"""Old constructors and casts (`torch.FloatTensor`, `.type(...)`) with the dtype they stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page, dotted

_DTYPES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "LongTensor": "int64", "IntTensor": "int32", "ByteTensor": "uint8", "BoolTensor": "bool",
    "Tensor": "float32",
}  # fmt: skip


@codemod("name-the-dtype", cures=("CAP001", "CTL402", "CTL405"))
def name_the_dtype(page: Page) -> Iterator[Edit]:
    """Constructors of the old kind make tensors that no tracer sees."""
    for node in page.calls(*(f"torch.{name}" for name in _DTYPES)):
        dtype = _DTYPES[dotted(node.func).partition(".")[2]]
        if len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple)):
            yield page.edit(node, f"torch.tensor({page.code(node.args[0])}, dtype=torch.{dtype})")
        elif node.args and all(_is_size(each) for each in node.args):
            sizes = ", ".join(map(page.code, node.args))
            yield page.edit(node, f"torch.zeros({sizes}, dtype=torch.{dtype})")
    for node, value in page.methods("type"):
        if len(node.args) != 1 or not page.is_tensor(value):
            continue
        given = node.args[0]
        text = str(given.value) if isinstance(given, ast.Constant) else dotted(given)
        dtype = _DTYPES.get(text.rpartition(".")[2], "")
        if dtype and text.startswith("torch."):
            yield page.edit(node, f"{page.operand(value)}.to(torch.{dtype})")


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
