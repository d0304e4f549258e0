"""Another process, or another machine, that forward asks."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("STA316", "outside-answer", reads=Captured, severity=Severity.WARNING, since="0.3")
def outside_answer(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds processes that `forward` starts and connections that it opens.

    ## Why it matters
    A file does neither: it keeps what was answered during the export.

    ## Example
    ```python
    import subprocess

    import torch


    class Tuned(torch.nn.Module):
        def forward(self, x):
            answer = subprocess.run(["echo", "2"], capture_output=True, check=True)
            return x * float(answer.stdout)


    model = Tuned().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Tuned(torch.nn.Module):
        def forward(self, x, scale):
            return x * scale


    model = Tuned().eval()
    args = (torch.randn(3), torch.tensor(2.0))
    ```

    ## Repair safety
    Not repaired.
    """
    for done in captured.done:
        if done.deed is Deed.OUTSIDE:
            yield Hit(
                f"forward asks {done.what}, and the file keeps the answer of the export",
                at=done.location,
                help="ask around the call, and give the answer as an input",
            )
