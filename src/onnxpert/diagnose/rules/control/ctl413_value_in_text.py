"""A value of a tensor that Python makes a text of."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.statement import is_decided_by
from onnxpert.core.types import Asked, Captured, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("CTL413", "value-in-text", reads=Captured, severity=Severity.INFO, since="0.3")
def value_in_text(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of lines that make a text of a tensor's value (`str(n)`, `f"{x.max():.2f}"`), other than in a
    message. Where such a text decides something it is a warning: it is compared with another one, read
    (`len`, `int`, `hash`, a digest), or what a dictionary keeps something under.

    ## Why it matters
    A file has no texts of numbers. That something is looked up by its name (`heads[f"head_{k}"]`) is in
    the file; what else is computed with the text is not, and the proof only knows the values it tried.

    ## Example
    ```python
    import torch


    class Chooses(torch.nn.Module):
        def forward(self, x):
            name = str(int(x.argmax()))
            return x * 2 if name == "seven" else x


    model = Chooses().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Chooses(torch.nn.Module):
        def forward(self, x):
            return x * 2 if int(x.argmax()) == 7 else x


    model = Chooses().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    for read in captured.reads:
        at = read.location
        if read.asked is Asked.TEXT and at is not None:
            yield Hit(
                "Python makes a text of a tensor's value, and the file has no texts of numbers",
                at=at,
                severity=Severity.WARNING if is_decided_by(at) else None,
                help="compute with the number itself; nothing to do if the text is only for people",
            )
