"""An input or output of a class that torch cannot look into."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.rule import rule


@rule("INP124", "opened-object", reads=Captured, severity=Severity.INFO, since="0.3")
def opened_object(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of inputs and outputs that are objects of a class which is not registered with torch: a
    dataclass, a class of your own. The file has the tensors in them, one by one.

    ## Why it matters
    Nothing is wrong: the file takes and gives what is in the object. But other exporters stop at a class
    that torch's pytree does not know.

    ## Example
    ```python
    import dataclasses

    import torch


    @dataclasses.dataclass
    class Boxes:
        corners: torch.Tensor


    class Grows(torch.nn.Module):
        def forward(self, x):
            return Boxes(x + 1)


    model = Grows().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Grows(torch.nn.Module):
        def forward(self, x):
            return {"corners": x + 1}


    model = Grows().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: what is in the object is in the file.
    """
    for one in captured.seen:
        if one.sight is Sight.OBJECT:
            yield Hit(
                f"{one.name} is a class of your own, and the file has the tensors in it one by one",
                at=one.location,
                help="nothing to do for the file; torch.export.register_dataclass makes it known",
            )
