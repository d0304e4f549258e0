"""Names that begin as numbers of Python's and become tensors on one side of a branch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, below, names_in
from onnxpert.repair.source.uses import bound


@codemod("begin-with-a-tensor", cures=("CTL401", "CTL406", "CTL409"))
def begin_with_a_tensor(page: Page) -> Iterator[Change]:
    """What a tensor's value decides to change is a tensor from the start, if it is asked later itself."""
    for made in page.each(cst.Assign):
        target, value = made.targets[0].target, made.value
        function = page.function(made)
        if len(made.targets) > 1 or not isinstance(target, cst.Name) or function is None:
            continue
        decided = target.value in _decided(page, function) & _asked(function)
        if decided and _is_number(value) and not _is_in_branch(page, made):
            yield value, page.expression("torch.tensor({})", value)


def _is_number(node: cst.BaseExpression) -> bool:
    """One that is written out."""
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression)
    truth = isinstance(node, cst.Name) and node.value in ("True", "False")
    return truth or isinstance(node, (cst.Integer, cst.Float))


def _decided(page: Page, function: cst.FunctionDef) -> set[str]:
    """The names that get another value where a tensor says so."""
    branches = (each for each in below(function, cst.If) if page.is_tensor(each.test))
    return {name for each in branches for name in bound(each)}


def _asked(function: cst.FunctionDef) -> set[str]:
    """The names that a branch asks."""
    tests = [each.test for each in below(function, cst.If)]
    tests += [each.test for each in below(function, cst.IfExp)]
    return {name for each in tests for name in names_in(each)}


def _is_in_branch(page: Page, node: cst.CSTNode) -> bool:
    around = page.parent(node)
    while around is not None and not isinstance(around, cst.FunctionDef):
        if isinstance(around, (cst.If, cst.While)):
            return True
        around = page.parent(around)
    return False
