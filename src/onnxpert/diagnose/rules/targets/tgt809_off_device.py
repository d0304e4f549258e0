"""A node that runs, and not where the target would have it run."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT809", "off-device", reads=Fitting, severity=Severity.INFO, since="0.2")
def off_device(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Names operators that the device has no kernel for and the CPU computes in between, and operators
    that a smaller build of the runtime leaves out.

    ## Why it matters
    Each of them copies its inputs from the device and its outputs back, which can cost more than
    everything else; in the smaller build the file does not load.

    ## Example
    ```python
    import torch


    class Determinants(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.det(x)


    model = Determinants().eval()
    args = (torch.randn(2, 3, 3),)
    options = {"target": "ort-cuda"}
    ```

    ## Use instead
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, x):
            return x.sum((1, 2))


    model = Sums().eval()
    args = (torch.randn(2, 3, 3),)
    options = {"target": "ort-cuda"}
    ```

    ## Repair safety
    Nothing to repair: the results are the same.
    """
    for each in fitting.beyond:
        if each.limit is Limit.ELSEWHERE:
            yield Hit(
                f"{each.what} {each.detail}",
                at=each.location,
                help=each.help,
                notes=(f"by {fitting.source}", *([f"node {each.node}"] if each.node else [])),
            )
