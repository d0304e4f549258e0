"""A loop over a dynamic size that the file has."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import is_library
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.loops import headers
from onnxpert.diagnose.rule import rule


@rule("CTL412", "loop-in-file", reads=Captured, severity=Severity.INFO, since="0.3")
def loop_in_file(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every Python loop that goes round as often as a dynamic size says, and that the file has
    as a loop.

    ## Why it matters
    Nothing is wrong: the file goes round as often as the model does. But other exporters write down the
    rounds of the example, and a loop costs the runtime more than an operator on the whole tensor.

    ## Example
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, x):
            state = torch.zeros(3)
            for row in x:
                state = torch.tanh(state + row)
            return state


    model = Sums().eval()
    args = (torch.randn(4, 3),)
    options = {"dynamic_shapes": ({0: "rows"},)}
    ```

    ## Use instead
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, x):
            return torch.tanh(x).sum(0)


    model = Sums().eval()
    args = (torch.randn(4, 3),)
    options = {"dynamic_shapes": ({0: "rows"},)}
    ```

    ## Repair safety
    Done by itself, and proven at other sizes.
    """
    told = {(r.location.file, r.location.line) for r in captured.reads if r.location is not None}
    for at in headers(captured.root):
        if (at.file, at.line) not in told and not is_library(at.file):
            yield Hit(
                "Python goes round as often as a size or a value says, and the file has the loop",
                at=at,
                help="nothing to do for the file; an operator on the whole tensor would be quicker",
            )
