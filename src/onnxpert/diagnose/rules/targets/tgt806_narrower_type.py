"""A type that the target computes in a narrower one, without a word."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule

# What is less than a model in float64.
_LESS = {"inner": Severity.WARNING, "int64": Severity.WARNING, "single": Severity.INFO}


@rule("TGT806", "narrower-type", reads=Fitting, severity=Severity.ERROR, since="0.2")
def narrower_type(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Finds float64 on targets that compute it as float32, and constants of int64 beyond the range of
    int32 on targets that compute those as int32.

    ## Why it matters
    The target takes the file and gives other numbers: half of the digits are lost, and large
    integers become different ones.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).double().eval()
    args = (torch.randn(3, 4, dtype=torch.float64),)
    options = {"target": "tensorrt"}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"target": "tensorrt"}
    ```

    ## Repair safety
    Not safe: `repair="all"` takes float32 for good enough, and the proof compares with the tolerance
    of float32.
    """
    for each in fitting.beyond:
        if each.limit is not Limit.NARROWER:
            continue
        severity = next((s for said, s in _LESS.items() if each.detail.startswith(said)), None)
        yield Hit(
            f"{fitting.target} computes {each.detail}",
            at=each.location,
            help='convert the model: model.float(); or accept it: repair="all"'
            if "float64" in each.detail
            else "use constants within 2**31, or choose another target",
            notes=(f"by {fitting.source}", *([f"node {each.node}"] if each.node else [])),
            severity=severity,
        )
