"""Two dimensions that have a name each and are one size in the file."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Merged, Severity
from onnxpert.diagnose.rule import rule


@rule("SHP207", "names-of-one-size", reads=Merged, severity=Severity.INFO, since="0.3")
def names_of_one_size(merged: Merged) -> Iterator[Hit]:
    """
    ## What it does
    Finds dimensions that were given two names and that have to be equal, because the model joins or
    adds what has them. They have one name in the file. Where the model also takes one of them to be 1
    and the file does not, it is a warning.

    ## Why it matters
    The file says what it takes, and a caller who reads two names in the export's source would expect
    two sizes.

    ## Example
    ```python
    import torch


    class Joined(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y], 1)


    model = Joined().eval()
    args = (torch.randn(3, 4), torch.randn(3, 4))
    options = {"dynamic_shapes": {"x": {0: "rows"}, "y": {0: "others"}}}
    ```

    ## Use instead
    ```python
    import torch


    class Joined(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y], 1)


    model = Joined().eval()
    args = (torch.randn(3, 4), torch.randn(3, 4))
    options = {"dynamic_shapes": {"x": {0: "rows"}, "y": {0: "rows"}}}
    ```

    ## Repair safety
    Nothing is repaired: the two dimensions share a name in the file.
    """
    one, other = merged.names
    case = ", ".join(f"{name}={size}" for name, size in merged.sizes.items())
    if merged.refusal:
        yield Hit(
            f"{one} and {other} have to be equal and are both named {merged.kept} in the file",
            at=merged.location,
            notes=(f"at {case} the model says {merged.refusal}",),
        )
    else:
        yield Hit(
            f"{one} and {other} are both named {merged.kept} in the file, which is right where they "
            f"are equal; the model runs at {case} too",
            at=merged.location,
            help=f"give both one name, or an example in which {other} is not {one}",
            severity=Severity.WARNING,
        )
