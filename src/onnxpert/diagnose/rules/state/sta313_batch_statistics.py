"""A batch normalisation that has no statistics of its own."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.modes import switched_on
from onnxpert.diagnose.rule import rule


@rule("STA313", "batch-statistics", reads=Captured, severity=Severity.INFO, since="0.2")
def batch_statistics(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds batch normalisation without running statistics (`track_running_stats=False`): it normalises
    by the batch at hand in evaluation too.

    ## Why it matters
    The result for one example depends on the others in its batch, in Python as in the file.

    ## Example
    ```python
    import torch

    model = torch.nn.BatchNorm1d(4, track_running_stats=False).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.BatchNorm1d(4).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    for node, layer in switched_on(captured):
        if layer.name == "batch_norm" and (layer.always or not layer.training):
            yield Hit(
                "batch_norm has no running statistics and normalises by the batch it is given",
                at=of_meta(node.meta),
                help="train it with track_running_stats=True, if rows are to be independent",
            )
