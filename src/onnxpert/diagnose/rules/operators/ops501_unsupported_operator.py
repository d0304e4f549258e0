"""An operator that cannot be said in ONNX yet."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS501", "unsupported-operator", reads=Lowered, severity=Severity.ERROR, since="0.1")
def unsupported_operator(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Lists every operator for which there is no lowering, each at its line: the walk goes on past
    the first one.

    ## Why it matters
    Without a lowering there is no file.

    ## Example
    ```python
    import torch


    class Solves(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)


    model = Solves().eval()
    args = (torch.randn(3, 3),)
    ```

    ## Use instead
    ```python
    import torch


    class Multiplies(torch.nn.Module):
        def forward(self, x):
            return x @ x.mT


    model = Multiplies().eval()
    args = (torch.randn(3, 3),)
    ```

    ## Repair safety
    Not repaired. A lowering of your own is a function with `@onnxpert.lowering(overload)`.
    """
    for missing in lowered.unsupported:
        if missing.lowest_opset is None and not (missing.opaque or missing.broken):
            yield Hit(
                f"{missing.op} has no lowering to ONNX"
                + (f": {missing.reason.splitlines()[0]}" if missing.reason else ""),
                at=missing.location,
                help=_cure(missing.op),
                severity=Severity.INFO if missing.follows else None,  # it goes with what made it
            )


def _cure(op: str) -> str:
    if "sparse" in op:
        return "leave out .to_sparse() and use the dense operator (torch.mm for torch.sparse.mm)"
    if "mkldnn" in op:
        return "leave out .to_mkldnn(): the runtime lays tensors out as its own kernels like them"
    return "write it with other operators, or compute it outside the model"
