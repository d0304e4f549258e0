"""Old constructors and casts (`torch.FloatTensor`, `.type(...)`) with the dtype they stand for."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, elements, given
from onnxpert.repair.source.watching import Kind

_DTYPES = {
    "torch.FloatTensor": "float32", "torch.DoubleTensor": "float64", "torch.HalfTensor": "float16",
    "torch.LongTensor": "int64", "torch.IntTensor": "int32", "torch.ByteTensor": "uint8",
    "torch.BoolTensor": "bool", "torch.Tensor": "float32",
}  # fmt: skip


@codemod("name-the-dtype", cures=("CAP001", "CTL402", "CTL405"))
def name_the_dtype(page: Page) -> Iterator[Change]:
    """Constructors of the old kind make tensors that no tracer sees."""
    for node in page.calls(*_DTYPES):
        dtype = f"torch.{_DTYPES[page.name(node.func)]}"
        values, _ = given(node)
        if len(values) == 1 and (elements(values[0]) or page.was(values[0], Kind.ARRAY)):
            yield node, page.expression(f"torch.tensor({{}}, dtype={dtype})", values[0])
        elif values and all(isinstance(v, cst.Integer) or page.was(v, Kind.INT) for v in values):
            sizes = ", ".join(map(page.code, values))
            yield node, page.expression(f"torch.zeros({sizes}, dtype={dtype})")
    for node, value in page.methods("type"):
        if len(node.args) != 1 or not page.is_tensor(value):
            continue
        kind = node.args[0].value
        text = kind.raw_value if isinstance(kind, cst.SimpleString) else page.name(kind)
        if text in _DTYPES:
            yield node, page.expression(f"{{}}.to(torch.{_DTYPES[text]})", value)
