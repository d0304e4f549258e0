"""A size of the example, written as a number, read from the tensor instead."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, elements, given
from onnxpert.repair.source.watching import Kind

_METHODS = ("view", "reshape", "expand", "repeat", "new_zeros", "new_ones", "unflatten")
_MAKERS = tuple(
    f"torch.{name}"
    for name in ("zeros", "ones", "full", "arange", "randn", "rand", "empty", "eye", "split")
)


@codemod("take-batch-from-input", cures=("SHP201", "SHP202", "SHP205", "NUM701", "SHP203"))
def take_batch_from_input(page: Page) -> Iterator[Change]:
    """A batch size that is written as a number only fits the example."""
    for node, value in [*page.methods(*_METHODS), *((call, None) for call in page.calls(*_MAKERS))]:
        given_sizes = given(node)[0]
        sizes = elements(given_sizes[0]) or given_sizes if given_sizes else []
        numbers = [number for each in sizes for number in _factors(each)]
        if not numbers:
            continue
        own = {each.shape[:1] for each in page.values(value)} if value is not None else set()
        if numbers[0] is sizes[0] and own == {(numbers[0].evaluated_value,)}:
            name = f"{value.value}.shape[0]" if isinstance(value, cst.Name) else ""
            found = [(numbers[0], name or _size(page, node, numbers[0]))]
        else:
            found = [
                (each, _size(page, node, each)) for each in numbers if each.evaluated_value > 1
            ]
            if any(page.was(each, Kind.INT) for each in sizes):  # the batch may be read already
                found = [(each, size) for each, size in found if not size.endswith("[0]")]
        sized = [(number, size) for number, size in found if size]
        if len(sized) == 1:  # of two, nobody knows which
            yield sized[0][0], page.expression(sized[0][1])


def _factors(node: cst.BaseExpression) -> Iterator[cst.Integer]:
    """The numbers of which a size is the product."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        yield from (*_factors(node.left), *_factors(node.right))
    elif isinstance(node, cst.Integer):
        yield node


def _size(page: Page, node: cst.Call, number: cst.Integer) -> str:
    """The open size of a parameter that is that number, "" if none is."""
    function = page.function(node)
    for name in page.parameters(node):
        loads = [each for each in below(function or node, cst.Name) if each.value == name]
        seen = [each for load in loads for each in page.values(load) if each.open]
        for axis in seen[0].open if seen else ():
            if seen[0].shape[axis] == number.evaluated_value:
                return f"{name}.shape[{axis}]"
    return ""
