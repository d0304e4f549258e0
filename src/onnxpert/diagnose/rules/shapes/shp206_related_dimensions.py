"""Dynamic dimensions that a model ties to each other so that none of them can grow."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Related, Severity
from onnxpert.diagnose.listing import listed
from onnxpert.diagnose.rule import rule


@rule("SHP206", "related-dimensions", reads=Related, severity=Severity.WARNING, since="0.2")
def related_dimensions(related: Related) -> Iterator[Hit]:
    """
    ## What it does
    Finds dynamic dimensions that were asked for and that the model ties to each other: a table of 16
    positions takes every picture of 16 patches, and no larger one.

    ## Why it matters
    Each of them varies on paper. In practice the model takes the example's size, and so does the file.

    ## Example
    ```python
    import torch


    class Patches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = torch.nn.Parameter(torch.randn(1, 4, 16))

        def forward(self, x):
            return x.flatten(2) + self.positions


    model = Patches().eval()
    args = (torch.randn(2, 4, 4, 4),)
    options = {"dynamic_shapes": ({0: "batch", 2: "height", 3: "width"},)}
    ```

    ## Use instead
    ```python
    import torch


    class Patches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = torch.nn.Parameter(torch.randn(1, 4, 4, 4))

        def forward(self, x):
            size = x.shape[2:]
            positions = torch.nn.functional.interpolate(self.positions, size, mode="bilinear")
            return (x + positions).flatten(2)


    model = Patches().eval()
    args = (torch.randn(2, 4, 4, 4),)
    options = {"dynamic_shapes": ({0: "batch", 2: "height", 3: "width"},)}
    ```

    ## Repair safety
    Not repaired: it is how the model is.
    """
    yield Hit(
        f"{listed(related.names)} were asked to be dynamic, but the model takes them with {related.condition} only",
        at=related.location,
        help="fit what they meet there to their size: cut or interpolate a table, compute with the "
        "sizes themselves in a view; or leave them out of the dynamic shapes",
        severity=None if related.refused else Severity.INFO,
    )
