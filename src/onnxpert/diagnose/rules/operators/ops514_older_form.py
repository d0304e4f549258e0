"""An operator that a later opset has, written with others."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS514", "older-form", reads=Lowered, severity=Severity.INFO, since="0.3")
def older_form(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Tells of calls that a later opset says with one operator, where the opset that was asked for has to
    say them with several.

    ## Why it matters
    Nothing is wrong. But the many nodes take longer than the one operator would, and other exporters
    stop at such a line.

    ## Example
    ```python
    import torch


    class Samples(torch.nn.Module):
        def forward(self, x, grid):
            return torch.nn.functional.grid_sample(x, grid, align_corners=True)


    model = Samples().eval()
    args = (torch.rand(1, 1, 4, 4), torch.rand(1, 2, 2, 2))
    options = {"opset_version": 15}
    ```

    ## Use instead
    ```python
    import torch


    class Samples(torch.nn.Module):
        def forward(self, x, grid):
            return torch.nn.functional.grid_sample(x, grid, align_corners=True)


    model = Samples().eval()
    args = (torch.rand(1, 1, 4, 4), torch.rand(1, 2, 2, 2))
    options = {"opset_version": 18}
    ```

    ## Repair safety
    Done by itself, and proven.
    """
    missing = {(one.op, one.location) for one in lowered.unsupported}
    for one in lowered.older:
        if (one.op, one.location) in missing:  # it cannot be said at all, which is said
            continue
        yield Hit(
            f"{one.op} is one operator from opset {one.since} on, and several in opset "
            f"{lowered.opset}",
            at=one.location,
            help=f"ask for opset_version={one.since} or higher, if the target takes it",
        )
