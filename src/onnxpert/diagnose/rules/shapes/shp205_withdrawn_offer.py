"""A dimension that varies if it can, and cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpert.core.types import Hit, Severity, Withdrawn
from onnxpert.diagnose.listing import listed
from onnxpert.diagnose.rule import rule

# More dimensions than these are counted.
SHOWN = 4


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
    if withdrawn.lower is not None:
        kept = f"{'are' if len(dims) > 1 else 'is'} dynamic from size {withdrawn.lower} on only"
    else:
        sizes = listed(size for _, _, size in dims[:SHOWN])
        kept = f"{'keep their sizes' if len(dims) > 1 else 'keeps its size'} {sizes}"
    yield Hit(
        f"{_axes(dims)} {kept}",
        at=withdrawn.location,
        notes=(f"when it varied: {withdrawn.reason}",),
        help="ask for it by name if it has to vary; then what stands in its way is an error",
    )


def _axes(dims: Sequence[tuple[str, int, int]]) -> str:
    """'axes 0 and 2 of image and axis 1 of mask'."""
    axes: dict[str, list[int]] = {}
    for name, axis, _ in dims[:SHOWN]:
        axes.setdefault(name, []).append(axis)
    told = [
        f"{'axes' if len(of) > 1 else 'axis'} {listed(of)} of {name}" for name, of in axes.items()
    ]
    rest = [f"{len(dims) - SHOWN} more"] if len(dims) > SHOWN else []
    return listed([*told, *rest])
