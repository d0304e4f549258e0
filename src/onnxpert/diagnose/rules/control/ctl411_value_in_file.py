"""A value that Python takes out of a tensor and the file computes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, Captured, Hit, Severity
from onnxpert.diagnose.rule import rule

_SEEN = {
    Asked.BRANCH: "Python decides by the value of a tensor, and the file needs no If for it",
    Asked.LOOP: "Python goes round by the value of a tensor, and the file does as it does",
    Asked.ASSERTION: "Python checks the value of a tensor, and the file does not",
}
_NUMBER = "Python takes a value out of a tensor, and the file computes it for every input"


@rule("CTL411", "value-in-file", reads=Captured, severity=Severity.INFO, since="0.2")
def value_in_file(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every `.item()`, `.tolist()`, `int(tensor)` and `float(tensor)`, and of every `while` on
    the value of a tensor, that the file has: what Python goes on with is computed there.

    ## Why it matters
    Nothing is wrong: the file computes what Python reads, for every input anew. But other exporters
    stop at such a line, or keep the example's value, and on a GPU each one waits for the device.

    ## Example
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x):
            return x / x.abs().max().item()


    model = Scales().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x):
            return x / x.abs().max()


    model = Scales().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Done by itself, and proven at other values.
    """
    places = [one.location for one in captured.branches]
    places += [one.location for one in captured.preconditions]
    places += [one.location for one in captured.overcome]
    places += [one.location for one in captured.reads if one.asked is Asked.TEXT]  # CTL413
    lines = {(place.file, place.line) for place in places if place is not None}
    for read in captured.reads:
        at = read.location
        if read.asked is Asked.TEXT or at is None:
            continue
        # A list that a comprehension goes through is no part of the condition in it.
        if (at.file, at.line) not in lines or read.asked is Asked.NUMPY:
            yield Hit(
                _SEEN.get(read.asked, _NUMBER),
                at=at,
                help="nothing to do for the file; keep it a tensor for exporters that stop at it",
            )
