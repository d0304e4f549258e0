"""A batch normalisation that goes by the batch it is given, in evaluation too."""

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
    Finds batch normalisation that normalises by the batch at hand in evaluation too: because it has no
    running statistics (`track_running_stats=False`), or because `F.batch_norm(..., training=True)` says
    so. That one also changes the statistics, which the file does not: a warning.

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
        if layer.name != "batch_norm" or (layer.training and not layer.always):
            continue
        at = of_meta(node.meta)
        if layer.always:
            yield Hit(
                "batch_norm has no running statistics and normalises by the batch it is given",
                at=at,
                help="train it with track_running_stats=True, if rows are to be independent",
            )
        else:
            yield Hit(
                "batch_norm is told to train: it normalises by the batch it is given, and the file "
                "leaves its running statistics as they are",
                at=at,
                help="call it with training=self.training, if rows are to be independent",
                severity=Severity.WARNING,
            )
