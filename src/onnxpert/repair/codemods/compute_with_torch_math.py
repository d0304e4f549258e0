"""`math.sqrt` and its kin on tensors, as torch's."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page

_SAME = (
    "sqrt exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh floor ceil trunc erf erfc lgamma atan2 pow hypot isnan isinf isfinite copysign"
)
_NAMES = {name: name for name in _SAME.split()} | {
    "fabs": "abs", "degrees": "rad2deg", "radians": "deg2rad", "fmod": "fmod",
}  # fmt: skip


@codemod("compute-with-torch-math", cures=("CTL405", "CTL402", "INP123"))
def compute_with_torch_math(page: Page) -> Iterator[Change]:
    """`math` takes the number out of a tensor; torch has the same functions for tensors."""
    for node in page.calls("math.*"):
        name = _NAMES.get(page.name(node.func).partition(".")[2])
        if name and any(page.is_tensor(each.value) for each in node.args):
            yield node.func, page.expression(f"torch.{name}")
