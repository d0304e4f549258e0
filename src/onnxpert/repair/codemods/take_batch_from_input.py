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
    for node, value in page.methods(*_METHODS):
        first = _sizes(node)[0] if _sizes(node) else None
        own = {each.shape[:1] for each in page.values(value)}
        if isinstance(first, cst.Integer) and own == {(first.evaluated_value,)}:
            size = page.code(value) + ".shape[0]" if isinstance(value, cst.Name) else ""
            yield from _read(page, [first], size or _size(page, node, first))
        else:
            yield from _open(page, node)
    for node in page.calls(*_MAKERS):
        yield from _open(page, node)


def _open(page: Page, node: cst.Call) -> Iterator[Change]:
    """The one number among the sizes that is an open size; of two, nobody knows which."""
    numbers = [each for each in _sizes(node) if isinstance(each, cst.Integer)]
    found = [n for n in numbers if n.evaluated_value > 1 and _size(page, node, n)]
    read = any(page.was(each, Kind.INT) for each in _sizes(node))  # another size is, already
    if found and not read:
        yield from _read(page, found, _size(page, node, found[0]))


def _read(page: Page, numbers: list[cst.Integer], size: str) -> Iterator[Change]:
    if size and len(numbers) == 1:
        yield numbers[0], page.expression(size)


def _sizes(node: cst.Call) -> list[cst.BaseExpression]:
    values, _ = given(node)
    return elements(values[0]) or values if values else []


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
