"""An ONNX node that the model asks for by name, and that computes nothing in torch."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Valueless
from onnxpert.diagnose.rule import rule


@rule("OPS510", "valueless-operator", reads=Valueless, severity=Severity.ERROR, since="0.1")
def valueless_operator(found: Valueless) -> Iterator[Hit]:
    """
    ## What it does
    Finds `torch.onnx.ops.symbolic` and `symbolic_multi_out`: the ONNX node they name is written,
    but torch itself computes zeros in its place.

    ## Why it matters
    A file is proven against what the model computes, and here it computes nothing. With
    `verify=False` the file is written, unproven, and this is a warning.

    ## Example
    ```python
    import torch


    class Activates(torch.nn.Module):
        def forward(self, x):
            return torch.onnx.ops.symbolic("Relu", (x,), dtype=x.dtype, shape=x.shape)


    model = Activates().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Activates(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)


    model = Activates().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired: only its author knows what the node shall compute.
    """
    for node in found.nodes:
        name = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        yield Hit(
            f"torch computes zeros where the file has {name}: nothing can be proven",
            at=node.location,
            help="compute it with torch operators, or with a custom operator and a lowering for it; "
            "or ask for the unproven file with verify=False",
            severity=Severity.ERROR if found.verify else Severity.WARNING,
        )
