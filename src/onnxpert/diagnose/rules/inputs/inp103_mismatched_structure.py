"""Dynamic shapes whose structure is not that of the inputs."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP103", "mismatched-structure", reads=Loaded, severity=Severity.ERROR, since="0.1")
def mismatched_structure(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds `dynamic_shapes` whose nesting differs from that of the inputs, and prints one that fits.

    ## Why it matters
    A list of two tensors needs a list of two specifications; anything else says nothing.

    ## Example
    ```python
    import torch


    class Sum(torch.nn.Module):
        def forward(self, xs):
            return xs[0] + xs[1]


    model = Sum().eval()
    args = ([torch.randn(3, 4), torch.randn(3, 4)],)
    options = {"dynamic_shapes": {"xs": [{0: "batch"}]}}
    ```

    ## Use instead
    ```python
    import torch


    class Sum(torch.nn.Module):
        def forward(self, xs):
            return xs[0] + xs[1]


    model = Sum().eval()
    args = ([torch.randn(3, 4), torch.randn(3, 4)],)
    options = {"dynamic_shapes": {"xs": [{0: "batch"}, {0: "batch"}]}}
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "bad-structure")
