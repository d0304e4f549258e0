"""Two dynamic dimensions that have to be equal."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Tied
from onnxpert.diagnose.rule import rule


@rule("SHP204", "tied-dimensions", reads=Tied, severity=Severity.INFO, since="0.1")
def tied_dimensions(tied: Tied) -> Iterator[Hit]:
    """
    ## What it does
    Finds unnamed dynamic dimensions that are equal in the example and cannot differ in the file,
    and gives them one name: the batch of an input and of its mask.

    ## Why it matters
    The file says what it takes. If they shall differ, give an example in which they do.

    ## Example
    ```python
    import torch


    class Masks(torch.nn.Module):
        def forward(self, x, mask):
            if torch.compiler.is_exporting():
                return x * mask[torch.arange(x.shape[0])]
            return x * mask


    model = Masks().eval()
    args = (torch.randn(3, 4), torch.randn(3, 4))
    options = {"dynamic_shapes": ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})}
    ```

    ## Use instead
    ```python
    import torch


    class Masks(torch.nn.Module):
        def forward(self, x, mask):
            return x * mask


    model = Masks().eval()
    args = (torch.randn(3, 4), torch.randn(3, 4))
    options = {"dynamic_shapes": ({0: "batch"}, {0: "batch"})}
    ```

    ## Repair safety
    Nothing is repaired: the two dimensions share a name in the file.
    """
    first, second = tied.first.sources[0], tied.second.sources[0]
    yield Hit(
        f"the file needs axis {second[1]} of {second[0]} to be as long as axis {first[1]} of "
        f"{first[0]}, so both are named {tied.first.name}",
        notes=(f"at {tied.row.case}: {tied.row.detail}",) if tied.row.detail else (),
    )
