"""A call whose result another call has changed."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Verified
from onnxpert.diagnose.rule import rule


@rule("STA305", "remembered-call", reads=Verified, severity=Severity.ERROR, since="0.1")
def remembered_call(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Calls the model twice on the same input, and after a call with another one. A different answer
    that comes from something an earlier call left behind is found here.

    ## Why it matters
    An ONNX file has no memory: it would give the answer of the first call for ever.

    ## Example
    ```python
    import torch


    class Smooth(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            y = x if self.last is None else 0.5 * (x + self.last)
            self.last = x + 1
            return y


    model = Smooth().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Smooth(torch.nn.Module):
        def forward(self, x, last):
            return 0.5 * (x + last), x + 1


    model = Smooth().eval()
    args = (torch.randn(3), torch.zeros(3))
    ```

    ## Repair safety
    Not repaired by itself, for it changes the signature: `state="io"` makes the state an input and
    an output of the file, and `onnxpert.Stateful` feeds it back.
    """
    if verified.stateful:
        cure = "make the state an argument of forward and return its new value"
        found = f"{cure}: it is no tensor or number that a module holds"
        yield Hit(
            "a call gives another result after another call: the model keeps state",
            at=verified.location,
            help=found if verified.exposed else f'export with state="io", or {cure}',
        )
