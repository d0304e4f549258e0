"""Double precision inside a model of single precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, InputKind, Severity
from onnxpert.diagnose.rule import rule


@rule("DTY902", "stray-double", reads=Captured, severity=Severity.INFO, since="0.2")
def stray_double(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds the lines where a model whose weights and inputs are float32 or narrower begins to compute
    in float64, which NumPy's constants and `torch.double` bring in.

    ## Why it matters
    It costs twice the memory and more than twice the time, and many targets have no kernel for it.

    ## Example
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x):
            return x * torch.full((3,), 0.1, dtype=torch.float64)


    model = Scales().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x):
            return x * torch.full((3,), 0.1, dtype=x.dtype)


    model = Scales().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    nodes = list(captured.root.graph.nodes)
    given = [
        node for node, entry in _given(captured, nodes) if entry.kind is not InputKind.CONSTANT
    ]
    if not given or any(_is_double(node) for node in given):
        return
    for node in nodes:
        begins = node.op == "call_function" and _is_double(node)
        at = of_meta(node.meta) if begins else None
        if at is not None and not any(_is_double(source) for source in node.all_input_nodes):
            yield Hit(
                "double precision begins here, in a model of single precision",
                at=at,
                help="give the constant the dtype of the tensor it meets: dtype=x.dtype",
            )


def _given(captured: Captured, nodes: list[Any]) -> Iterator[tuple[Any, Any]]:
    placeholders = [node for node in nodes if node.op == "placeholder"]
    yield from zip(placeholders, captured.inputs, strict=True)


def _is_double(node: Any) -> bool:
    return str(getattr(node.meta.get("val"), "dtype", "")) == "torch.float64"
