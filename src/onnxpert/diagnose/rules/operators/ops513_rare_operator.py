"""An operator that torch.onnx.export has no lowering for."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.rule import rule


@rule("OPS513", "rare-operator", reads=Captured, severity=Severity.INFO, since="0.3")
def rare_operator(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of operators that ONNX has nothing like and `torch.onnx.export` has no lowering for: matrix
    factorisations, order statistics, special functions. onnxpert says them with many smaller ones.

    ## Why it matters
    Nothing is wrong. But the many nodes take longer than a kernel would, and other exporters stop at
    such a line.

    ## Example
    ```python
    import torch


    class Middle(torch.nn.Module):
        def forward(self, x):
            return x.kthvalue(2).values


    model = Middle().eval()
    args = (torch.tensor([[3.0, 1.0, 2.0]]),)
    ```

    ## Use instead
    ```python
    import torch


    class Middle(torch.nn.Module):
        def forward(self, x):
            return x.sort().values[..., 1]


    model = Middle().eval()
    args = (torch.tensor([[3.0, 1.0, 2.0]]),)
    ```

    ## Repair safety
    Nothing to repair: the lowering is proven like any other.
    """
    for one in captured.seen:
        if one.sight is Sight.RARE:
            yield Hit(
                f"torch.onnx.export has no lowering for {one.name}, and onnxpert has one of its own",
                at=one.location,
                help="nothing to do for the file; an operator that ONNX has would be quicker",
            )
