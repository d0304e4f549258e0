"""Quantised files that are larger than what they were made of."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Quantised, Severity
from onnxpert.diagnose.rule import rule


@rule("QNT005", "no-smaller-file", reads=Quantised, severity=Severity.WARNING, since="0.2")
def no_smaller_file(quantised: Quantised) -> Iterator[Hit]:
    """
    ## What it does
    Finds quantised files that are not smaller than the float files they were made of.

    ## Why it matters
    Each layer brings nodes and scales of its own. For a layer of a few hundred weights they take
    more room than the weights gave back, and more time.

    ## Example
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 8).eval()
    args = (torch.linspace(-1, 1, 16).reshape(2, 8),)
    options = {"quantize": "int8-dynamic"}
    ```

    ## Use instead
    ```python
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(128, 128).eval()
    args = (torch.linspace(-1, 1, 256).reshape(2, 128),)
    options = {"quantize": "int8-dynamic"}
    ```

    ## Repair safety
    There is no repair: leave `quantize=` out, or the small layers (`quantize_exclude=`).
    """
    before, after = quantised.bytes_before, quantised.bytes_after
    if after >= before > 0:
        yield Hit(
            f"the quantised file has {after:,} bytes, and the float file had {before:,}",
            help="export without quantize=, or leave the small layers out with quantize_exclude=",
        )
