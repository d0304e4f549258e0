"""An index beyond the table it looks into."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule


@rule("INP118", "index-out-of-range", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def index_out_of_range(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds example indices that are larger than an embedding or a table has rows.

    ## Why it matters
    The model itself raises on them; no export can follow.

    ## Example
    ```python
    import torch

    model = torch.nn.Embedding(10, 4).eval()
    args = (torch.tensor([1, 12]),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Embedding(10, 4).eval()
    args = (torch.tensor([1, 9]),)
    ```

    ## Repair safety
    Not repaired: which indices are meant, only you know.
    """
    if cause(failed) is Cause.INDEX:
        yield Hit(
            "an index of the example is out of range",
            at=evidence(failed).location,
            help="give indices below the number of rows (vocabulary size, number of positions)",
            notes=(*_largest(failed), f"torch says: {evidence(failed).text.splitlines()[0]}"),
        )


def _largest(failed: CaptureFailed) -> Iterator[str]:
    for leaf in failed.loaded.leaves:
        whole = hasattr(leaf.value, "is_floating_point") and not leaf.value.is_floating_point()
        if whole and leaf.value.numel():
            yield f"the largest value of {leaf.path} is {int(leaf.value.max())}"
