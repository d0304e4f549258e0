"""A dimension that varies if it can, and cannot."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Withdrawn
from onnxpert.diagnose.rule import rule


@rule("SHP205", "withdrawn-offer", reads=Withdrawn, severity=Severity.INFO, since="0.1")
def withdrawn_offer(withdrawn: Withdrawn) -> Iterator[Hit]:
    """
    ## What it does
    Tells which dimensions are fixed, or start at 2, although `"auto"` or `Dim.AUTO` offered them:
    the model, or the file, does not work when they vary. A dimension of size 1 that is broadcast
    against a larger one is the usual case.

    ## Why it matters
    The file takes the size of the example there and no other. A dimension that was asked for by
    name, or as `Dim.DYNAMIC`, is never fixed: that would be an error.

    ## Example
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x, scale):
            return x * scale


    model = Scales().eval()
    args = (torch.randn(3, 4), torch.randn(3, 1))
    options = {"dynamic_shapes": "auto"}
    ```

    ## Use instead
    ```python
    import torch


    class Scales(torch.nn.Module):
        def forward(self, x, scale):
            return x * scale


    model = Scales().eval()
    args = (torch.randn(3, 4), torch.randn(3, 1))
    options = {"dynamic_shapes": ({0: "batch", 1: "width"}, {0: "batch"})}
    ```

    ## Repair safety
    Nothing is repaired: the dimension keeps the size that it has in the example.
    """
    dims = withdrawn.dims
    axes = ", ".join(f"axis {axis} of {name}" for name, axis, _ in dims[:4])
    more = f" and {len(dims) - 4} more" if len(dims) > 4 else ""
    if withdrawn.lower is not None:
        kept = f"{'are' if len(dims) > 1 else 'is'} dynamic from size {withdrawn.lower} on only"
    else:
        sizes = " and ".join(dict.fromkeys(str(size) for _, _, size in dims[:4]))
        kept = f"{'keep their sizes' if len(dims) > 1 else 'keeps its size'} {sizes}"
    yield Hit(
        f"{axes}{more} {kept}",
        at=withdrawn.location,
        notes=(f"when it varied: {withdrawn.reason}",),
        help="ask for it by name if it has to vary; then what stands in its way is an error",
    )
