"""A value of a tensor that has to be a number of Python's own."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Location, Severity
from onnxpert.diagnose.causes import blockers, needed
from onnxpert.diagnose.instead import of_number
from onnxpert.diagnose.rule import rule


@rule("CTL405", "value-as-number", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def value_as_number(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `int(tensor)`, `float(tensor)` and `.item()` where the number decides something that only
    Python can do with it: how often a loop runs, which item of a list is taken.

    ## Why it matters
    The graph would hold the number of the example and no other.

    ## Example
    ```python
    import torch


    class Picks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))

        def forward(self, x, which):
            return self.parts[int(which)](x)


    model = Picks().eval()
    args = (torch.randn(2, 3), torch.tensor(1))
    ```

    ## Use instead
    ```python
    import torch


    class Picks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))

        def forward(self, x, which):
            results = torch.stack([part(x) for part in self.parts])
            return results.index_select(0, which.reshape(1)).squeeze(0)


    model = Picks().eval()
    args = (torch.randn(2, 3), torch.tensor(1))
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in blockers(failed, Asked.NUMBER):
        yield Hit(
            "Python needs the value of a tensor as a number",
            at=blocker.location,
            help=of_number(_code(blocker.location), _code(blocker.needed or blocker.location)),
            notes=tuple(needed(blocker, "a number")),
        )


def _code(place: Location | None) -> str:
    return "" if place is None else place.code
