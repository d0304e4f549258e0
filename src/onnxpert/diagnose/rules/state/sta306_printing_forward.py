"""A `print` in forward."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("STA306", "printing-forward", reads=Captured, severity=Severity.INFO, since="0.2")
def printing_forward(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds calls of `print`, `sys.stdout.write` and `warnings.warn`, and messages to a log that is
    heard, while `forward` runs.

    ## Why it matters
    The file prints nothing, and a tensor that is printed during the export shows no values.

    ## Example
    ```python
    import torch


    class Talks(torch.nn.Module):
        def forward(self, x):
            print("input of shape", tuple(x.shape))
            return x * 2


    model = Talks().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Works(torch.nn.Module):
        def forward(self, x):
            return x * 2


    model = Works().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the outputs are the same.
    """
    for done in captured.done:
        if done.deed is Deed.PRINT:
            yield Hit(
                f"forward calls {done.what}, and the file does not",
                at=done.location,
                help="nothing to do, unless somebody reads what is printed",
            )
