"""Inputs of layers, and weights, in another precision than what they meet."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.core.types import Safety
from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given
from onnxpert.repair.source.watching import Kind

_STRICT = ("linear", "conv1d", "conv2d", "conv3d", "bilinear")
_PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot")
_CALLS = [f"torch.nn.functional.{name}" for name in _STRICT] + [
    f"torch.{name}" for name in _PRODUCTS
]


@codemod("match-the-weights", cures=("INP110",), safety=Safety.UNSAFE)
def match_the_weights(page: Page) -> Iterator[Change]:
    """Layers and products take one precision; what comes in another is cast to that of the rest."""
    for node in page.each(cst.Call):
        values, _ = given(node)
        layer = page.values(node.func) if page.was(node.func, Kind.LAYER) else []
        if not values or not layer or not layer[0].dtype or page.values(node):
            continue
        if _precision(page, values[0]) not in ("", layer[0].dtype):
            yield values[0], page.expression(f"{{}}.to(torch.{layer[0].dtype})", values[0])
    for node in page.calls(*_CALLS):
        values, _ = given(node)
        if len(values) > 1 and not page.values(node):
            yield from _cast(page, values[0], values[1])
    for product in page.each(cst.BinaryOperation):
        if isinstance(product.operator, cst.MatrixMultiply) and not page.values(product):
            yield from _cast(page, product.left, product.right)


def _cast(page: Page, left: cst.BaseExpression, right: cst.BaseExpression) -> Iterator[Change]:
    one, other = _precision(page, left), _precision(page, right)
    if one and other and one != other:
        yield right, page.expression("{}.to({}.dtype)", right, left)


def _precision(page: Page, node: cst.BaseExpression) -> str:
    """The dtype of a tensor of floating-point numbers, "" for anything else."""
    seen = page.values(node)[-1:]
    floats = seen and seen[0].kind is Kind.TENSOR and "float" in seen[0].dtype
    return seen[0].dtype if floats else ""
