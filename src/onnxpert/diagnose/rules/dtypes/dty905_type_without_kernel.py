"""A call in a type that ONNX Runtime has no kernel for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from onnxpert.core.calls import calls
from onnxpert.core.source import is_library, of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import dtype_of, given_floats
from onnxpert.diagnose.rule import rule
from onnxpert.targets.kernels import installed

_TENSORS = {"float64": "double", "float16": "float16", "bfloat16": "bfloat16"}
# Where torch's name is not the operator's with other capitals.
_NAMES = {
    "convolution": "Conv", "conv1d": "Conv", "conv2d": "Conv", "conv3d": "Conv",
    "conv_transpose1d": "ConvTranspose", "conv_transpose2d": "ConvTranspose",
    "grid_sampler": "GridSample", "grid_sampler_2d": "GridSample", "cumsum": "CumSum",
}  # fmt: skip
# The same name and something else: torch's are over an axis, the operator's over a list.
_OTHERS = frozenset({"mean", "sum", "max", "min"})


@rule("DTY905", "type-without-kernel", reads=Captured, severity=Severity.INFO, since="0.3")
def type_without_kernel(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of calls in float64, float16 or bfloat16 whose operator ONNX Runtime's CPU provider has in other
    types only, as its own table of kernels says.

    ## Why it matters
    The call is said in another way: in float32 between casts, or with other operators. A file in which
    it cannot be is an error of its own (TGT804).

    ## Example
    ```python
    import torch


    class Smooth(torch.nn.Module):
        def forward(self, x):
            return torch.erf(x)


    model = Smooth().eval()
    args = (torch.randn(3, dtype=torch.float64),)
    ```

    ## Use instead
    ```python
    import torch


    class Smooth(torch.nn.Module):
        def forward(self, x):
            return torch.erf(x)


    model = Smooth().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Done by itself, and proven.
    """
    # A whole model in half precision is meant to be, and widened as a whole.
    meant = given_floats(captured) & {"float16", "bfloat16"}
    for node in calls(captured.root):
        packet = getattr(node.target, "overloadpacket", None)
        dtype = dtype_of(node)
        told = dtype in _TENSORS and dtype not in meant
        lacked = _lacked(str(getattr(packet, "__name__", "")), dtype) if told else ""
        at = of_meta(node.meta) if lacked else None
        if at is not None and not is_library(at.file):
            yield Hit(
                f"ONNX Runtime has no {lacked} in {dtype} on the CPU",
                at=at,
                help="nothing to do where a file is written; in float32 it would be one kernel",
            )


@cache
def _lacked(name: str, dtype: str) -> str:
    """The operator that a call would be, if there are kernels for it and none in the dtype."""
    kernels = installed("ort-cpu")
    if kernels is None or name in _OTHERS:
        return ""
    operators = {op.lower(): op for domain, op in kernels.table if not domain}
    found = _NAMES.get(name) or operators.get(name.rstrip("_").replace("_", ""), "")
    wanted = f"tensor({_TENSORS[dtype]})"
    registered = kernels.table.get(("", found), ())
    served = any(wanted in allowed for one in registered for allowed in one.types.values())
    return found if registered and not served and any(one.types for one in registered) else ""
