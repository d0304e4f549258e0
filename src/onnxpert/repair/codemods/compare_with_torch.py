"""`max`, `min` and `abs` of Python's on tensors, as torch's."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given

_PAIRS = {"max": ("torch.maximum({}, {})", "min"), "min": ("torch.minimum({}, {})", "max")}


@codemod("compare-with-torch", cures=("CTL401", "CTL405", "CTL406", "CTL409"))
def compare_with_torch(page: Page) -> Iterator[Change]:
    """Python's max and min ask a tensor which is larger; torch.maximum keeps that in the graph."""
    for node in page.calls(*_PAIRS):
        values, keywords = given(node)
        tensors = [page.is_tensor(each) for each in values]
        if len(values) != 2 or keywords or not any(tensors):
            continue
        both, side = _PAIRS[page.name(node.func)]
        if all(tensors):
            yield node, page.expression(both, *values)
        else:
            value, bound = values if tensors[0] else reversed(values)
            yield node, page.expression(f"{{}}.clamp({side}={{}})", value, bound)
