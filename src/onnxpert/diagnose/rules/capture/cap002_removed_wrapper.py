"""A wrapper around the model that is not exported."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.rule import rule


@rule("CAP002", "removed-wrapper", reads=Loaded, severity=Severity.INFO, since="0.1")
def removed_wrapper(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Takes off wrappers that are about running and not about computing: `torch.compile`,
    `DataParallel`, `DistributedDataParallel`.

    ## Why it matters
    They cannot be traced, and the model inside computes the same.

    ## Example
    ```python
    import torch

    model = torch.nn.DataParallel(torch.nn.Linear(4, 2)).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Always done, and always safe: the proof compares with the model inside.
    """
    for name in loaded.unwrapped:
        yield Hit(f"the model was exported without its {name} wrapper")
