"""An input object that cannot be taken apart into tensors."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP105", "unsupported-input-type", reads=Loaded, severity=Severity.ERROR, since="0.1")
def unsupported_input_type(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds inputs of classes that are neither tensors, numbers, containers, dataclasses nor registered pytrees,
    and caches that keep in a Python number what the file would have to be told in each call.

    ## Why it matters
    A graph takes tensors; which tensors such an object holds, only its class knows.

    ## Example
    ```python
    import torch


    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b


    class Sum(torch.nn.Module):
        def forward(self, pair):
            return pair.a + pair.b


    model = Sum().eval()
    args = (Pair(torch.randn(3), torch.randn(3)),)
    ```

    ## Use instead
    ```python
    import dataclasses

    import torch


    @dataclasses.dataclass
    class Pair:
        a: torch.Tensor
        b: torch.Tensor


    class Sum(torch.nn.Module):
        def forward(self, pair):
            return pair.a + pair.b


    model = Sum().eval()
    args = (Pair(torch.randn(3), torch.randn(3)),)
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "unsupported-input")
