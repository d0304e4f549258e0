"""A value of a tensor that has to be a number of Python's own."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Asked, CaptureFailed, Hit, Location, Severity
from onnxpert.diagnose.causes import blockers, is_cleared, needed, needs, reason_for, told
from onnxpert.diagnose.instead import of_number, of_unwritten
from onnxpert.diagnose.rule import rule


@rule("CTL405", "value-as-number", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def value_as_number(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds `int(tensor)`, `float(tensor)` and `.item()` where the number decides something that only
    Python can do with it: which name something has, what a text says.

    ## Why it matters
    The graph would hold the number of the example and no other.

    ## Example
    ```python
    import torch


    class Scaled(torch.nn.Module):
        scales = {"low": 0.5, "high": 2.0}

        def forward(self, x, kind):
            name = ("low", "high")[int(kind)]
            return x * self.scales[name]


    model = Scaled().eval()
    args = (torch.randn(6, 3), torch.tensor(1))
    ```

    ## Use instead
    ```python
    import torch


    class Scaled(torch.nn.Module):
        scales = (0.5, 2.0)

        def forward(self, x, kind):
            return x * torch.tensor(self.scales)[kind]


    model = Scaled().eval()
    args = (torch.randn(6, 3), torch.tensor(1))
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in blockers(failed, Asked.NUMBER):
        if is_cleared(failed, blocker):
            yield Hit(
                "Python takes a value out of a tensor, which the file could compute for every input",
                at=blocker.location,
                severity=Severity.INFO,
                help="see to the errors; what this leads to is then in the file, or said here",
            )
            continue
        reason = reason_for(failed, blocker)
        cure = "" if reason is None else of_unwritten(reason.text)
        plain = of_number(_code(blocker.location), _code(blocker.needed or blocker.location))
        yield Hit(
            "Python needs the value of a tensor as a number",
            at=blocker.location,
            help=cure or plain,
            notes=(*needed(blocker, "a number"), *told(reason)),
        )
        yield from needs(blocker, "a number")


def _code(place: Location | None) -> str:
    return "" if place is None else place.code
