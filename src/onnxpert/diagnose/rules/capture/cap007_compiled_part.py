"""A part of the model that is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.parts import called_at, parts
from onnxpert.diagnose.rule import rule


@rule("CAP007", "compiled-part", reads=Loaded, severity=Severity.INFO, since="0.2")
def compiled_part(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds parts that were wrapped by `torch.compile`; they are captured as the Python they were made
    from.

    ## Why it matters
    A compiled part computes the same as its Python, and cannot be followed itself.

    ## Example
    ```python
    import torch

    model = torch.nn.Sequential(torch.compile(torch.nn.Linear(4, 4)), torch.nn.ReLU()).eval()
    args = (torch.randn(2, 4),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    args = (torch.randn(2, 4),)
    ```

    ## Repair safety
    Nothing to repair: the proof compares with the model as it is.
    """
    for path, module in parts(loaded):
        if path and type(module).__name__ == "OptimizedModule":
            yield Hit(
                f"{path} is compiled, and is exported as the Python it was made from",
                at=called_at(loaded, path),
                help="compile after exporting, if at all",
            )
