"""A call whose result another call has changed."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Remembered, Severity
from onnxpert.diagnose.rule import rule


@rule("STA305", "remembered-call", reads=Remembered, severity=Severity.ERROR, since="0.1")
def remembered_call(remembered: Remembered) -> Iterator[Hit]:
    """
    ## What it does
    Calls the model twice on the same input, and after a call with another one. A different answer
    that comes from something an earlier call left behind is found here: each attribute, and each
    variable, is given back to the model alone. A number that grows is also given as it is many calls
    later.

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
    cure = "make the state an argument of forward and return its new value"
    found = f"{cure}: it is no tensor or number that a module holds"
    kept = f"keeps {remembered.name}" if remembered.name else "keeps state"
    yield Hit(
        f"a call gives another result after other calls: the model {kept}",
        at=remembered.location,
        help=found if remembered.exposed else f'export with state="io", or {cure}',
    )
