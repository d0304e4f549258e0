"""`max`, `min`, `sum`, `round` and their kin of Python's on tensors, as torch's."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given

_PAIRS = {"max": ("torch.maximum({}, {})", "min"), "min": ("torch.minimum({}, {})", "max")}
_OF_ONE = {
    "max": "{}.max()", "min": "{}.min()", "sum": "{}.sum(0)", "any": "{}.any()", "all": "{}.all()",
    "round": "torch.round({})",
}  # fmt: skip


@codemod("compare-with-torch", cures=("CTL401", "CTL405", "CTL406", "CTL409", "SHP201"))
def compare_with_torch(page: Page) -> Iterator[Change]:
    """Python's max and sum ask a tensor for its elements; those of torch's stay in the graph."""
    for node in page.calls(*_PAIRS, *_OF_ONE):
        values, keywords = given(node)
        name, tensors = page.name(node.func), [page.is_tensor(each) for each in values]
        if keywords or not any(tensors) or len(values) > 2:
            continue
        if len(values) == 1:
            yield node, page.expression(_OF_ONE[name], *values)
        elif name in _PAIRS and all(tensors):
            yield node, page.expression(_PAIRS[name][0], *values)
        elif name in _PAIRS:
            value, bound = values if tensors[0] else reversed(values)
            yield node, page.expression(f"{{}}.clamp({_PAIRS[name][1]}={{}})", value, bound)
