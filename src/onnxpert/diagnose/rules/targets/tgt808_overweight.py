"""Weights that are more than the target holds."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT808", "overweight", reads=Fitting, severity=Severity.ERROR, since="0.2")
def overweight(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Adds up the weights and compares them with what the target can hold: a browser or a telephone
    ends where a file of 2 GiB does.

    ## Why it matters
    The file would be written, shipped, and fail when it is loaded.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(32768, 32768, bias=False).eval()
    args = (torch.randn(1, 32768),)
    options = {"target": "ort-web"}
    ```

    ## Use instead
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(32, 32, bias=False).eval()
    args = (torch.randn(1, 32),)
    options = {"target": "ort-web"}
    ```

    ## Repair safety
    Not repaired: which weights can go, only you can say.
    """
    for each in fitting.beyond:
        if each.limit is Limit.BYTES:
            yield Hit(
                f"{each.what} are {each.detail}: too many for {fitting.target}",
                at=each.location,
                help='make them smaller: precision="float16", or quantise the model',
                notes=(each.help,) if each.help else (),
            )
