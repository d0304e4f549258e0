"""An example smaller than a kernel that runs over it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule

_KERNEL = re.compile(r"Kernel size: \(([^)]*)\)", re.IGNORECASE)
_PADDED = re.compile(r"input size per channel: \(([^)]*)\)", re.IGNORECASE)


@rule("INP111", "input-too-small", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def input_too_small(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds examples that are smaller than a convolution or pooling window needs, and tries which
    size is the smallest that works.

    ## Why it matters
    Nothing can be captured from an input that the model itself refuses.

    ## Example
    ```python
    import torch

    model = torch.nn.Conv2d(3, 16, 3).eval()
    args = (torch.randn(1, 3, 1, 1),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Conv2d(3, 16, 3).eval()
    args = (torch.randn(1, 3, 3, 3),)
    ```

    ## Repair safety
    Not repaired: the size of your images is yours to know.
    """
    if cause(failed) is not Cause.SMALL:
        return
    said = evidence(failed)
    kernel, padded = _KERNEL.search(said.text), _PADDED.search(said.text)
    given = {
        leaf.name: tuple(leaf.value.shape)
        for leaf in failed.loaded.leaves
        if leaf.name in failed.sizes
    }
    for name, smallest in failed.sizes.items():
        window = f" for the kernel of {kernel[1]}" if kernel else ""
        yield Hit(
            f"input {name} of {_by(given[name])} is too small{window}: "
            f"the smallest that works is {_by(smallest)}",
            at=said.location,
            help=f"give an example of at least {_by(smallest)}, such as "
            f"torch.randn({', '.join(map(str, smallest))})",
            notes=(f"with padding the layer sees {padded[1]}",) if padded else (),
        )


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
