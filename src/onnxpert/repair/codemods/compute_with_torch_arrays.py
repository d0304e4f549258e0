"""numpy in forward, said with torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page, dotted
from onnxpert.repair.source.watching import Kind

_SAME = frozenset(
    [
        "abs",
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sign",
        "floor",
        "ceil",
        "square",
        "where",
        "stack",
        "matmul",
        "sum",
        "mean",
        "prod",
        "zeros_like",
        "ones_like",
        "argmax",
        "argmin",
        "cumsum",
        "isnan",
        "isinf",
        "maximum",
        "minimum",
        "log1p",
        "expm1",
        "einsum",
        "full_like",
        "outer",
    ]
)
_OTHER = {
    "concatenate": "cat", "clip": "clamp", "power": "pow", "dot": "matmul", "absolute": "abs",
    "arctan2": "atan2", "arctan": "atan", "expand_dims": "unsqueeze",
}  # fmt: skip
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max"}
_DTYPES = frozenset(["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"])


@codemod("compute-with-torch-arrays", cures=("CTL402", "CTL408", "CTL405", "CAP001", "INP122"))
def compute_with_torch_arrays(page: Page) -> Iterator[Edit]:
    """An array of numpy's is outside of the graph; torch has the same functions for tensors."""
    for node, value in page.methods("numpy"):
        if page.is_tensor(value):
            yield page.edit(node, _inner(page, value))
    for node in page.calls("torch.from_numpy", "torch.tensor", "torch.as_tensor"):
        if len(node.args) == 1 and page.was(node.args[0], Kind.ARRAY):
            yield page.edit(node, _rewritten(page, node.args[0]) + _cast(page, node))
    for node in page.calls("np.*", "numpy.*"):
        if _translated(node) and page.was(node, Kind.ARRAY):
            yield page.edit(node, _call(page, node))
    for node, value in page.methods("astype"):
        if page.was(value, Kind.ARRAY) and node.args:
            yield page.edit(node, _astype(page, node, value))


def _inner(page: Page, value: ast.expr) -> str:
    """The tensor itself, without what was only needed on the way to numpy."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("detach", "cpu", "contiguous") or value.args:
            break
        value = value.func.value
    return page.operand(value)


def _translated(node: ast.Call) -> bool:
    name = dotted(node.func).rpartition(".")[2]
    return name in _SAME or name in _OTHER


def _rewritten(page: Page, node: ast.expr) -> str:
    """An expression with every numpy call inside it said in torch."""
    if isinstance(node, ast.Call):
        if dotted(node.func).partition(".")[0] in ("np", "numpy") and _translated(node):
            return _call(page, node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
            return _inner(page, node.func.value)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return _astype(page, node, node.func.value)
    if isinstance(node, ast.BinOp):
        left, right = (_rewritten(page, each) for each in (node.left, node.right))
        between = page.content[page.span(node.left)[1] : page.span(node.right)[0]]
        return f"({left}{between}{right})"
    return page.operand(node)


def _call(page: Page, node: ast.Call) -> str:
    name = dotted(node.func).rpartition(".")[2]
    given = [_list(page, each) for each in node.args]
    given += [
        f"{_KEYWORDS.get(each.arg or '', each.arg)}={page.code(each.value)}"
        for each in node.keywords
    ]
    return f"torch.{_OTHER.get(name, name)}({', '.join(given)})"


def _list(page: Page, node: ast.expr) -> str:
    if isinstance(node, (ast.List, ast.Tuple)):
        return "[" + ", ".join(_rewritten(page, each) for each in node.elts) + "]"
    text = _rewritten(page, node)
    return text[1:-1] if isinstance(node, ast.BinOp) else text


def _astype(page: Page, node: ast.Call, value: ast.expr) -> str:
    name = page.code(node.args[0]).rpartition(".")[2].strip("\"'")
    dtype = f"torch.{name}" if name in _DTYPES else page.code(node.args[0])
    return f"{_rewritten(page, value)}.to({dtype})"


def _cast(page: Page, node: ast.Call) -> str:
    dtype = next((each.value for each in node.keywords if each.arg == "dtype"), None)
    return f".to({page.code(dtype)})" if dtype is not None else ""
