"""Attention of which a whole row is masked."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.rule import rule


@rule("NUM709", "masked-row", reads=Captured, severity=Severity.INFO, since="0.3")
def masked_row(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of calls of `scaled_dot_product_attention` whose mask leaves some position nothing to attend to,
    in the example.

    ## Why it matters
    torch gives 0 for such a position, and so does the file. The formula that attention stands for is a
    softmax over nothing but minus infinity, which is NaN: what another exporter writes, or another
    runtime computes, may be that.

    ## Example
    ```python
    import torch
    import torch.nn.functional as F


    class Attends(torch.nn.Module):
        def forward(self, x, mask):
            return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


    model = Attends().eval()
    args = (
        torch.randn(1, 3, 4),
        torch.tensor([[True, False, False], [True, True, False], [False] * 3]),
    )
    ```

    ## Use instead
    ```python
    import torch
    import torch.nn.functional as F


    class Attends(torch.nn.Module):
        def forward(self, x, mask):
            return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


    model = Attends().eval()
    args = (torch.randn(1, 3, 4), torch.ones(3, 3, dtype=torch.bool).tril())
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    for one in captured.seen:
        if one.sight is Sight.MASKED:
            yield Hit(
                "a position of this attention has everything masked: torch gives 0, the formula NaN",
                at=one.location,
                help="nothing to do for the file; let each position attend to itself for others",
            )
