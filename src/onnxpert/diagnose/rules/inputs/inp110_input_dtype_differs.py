"""An input in another floating dtype than the weights."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, InputLeaf, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule


@rule("INP110", "input-dtype-differs", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def input_dtype_differs(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds example inputs whose floating dtype is not that of the weights, where the model refuses
    them for that reason: with the input cast, it runs.

    ## Why it matters
    Other exporters write the mixture into the file, and the runtime refuses it when it is loaded.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(10, 5).eval()
    args = (torch.randn(2, 10, dtype=torch.float16),)
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(10, 5).eval()
    args = (torch.randn(2, 10, dtype=torch.float32),)
    ```

    ## Repair safety
    Safe: `cast-inputs` casts the input inside the file, which still takes what you gave.
    """
    if cause(failed) is not Cause.DTYPE:
        return
    given = {leaf.name: str(leaf.value.dtype).removeprefix("torch.") for leaf in _tensors(failed)}
    for name, wanted in failed.casts.items():
        yield Hit(
            f"input {name} is {given[name]}, the weights are {wanted}",
            at=evidence(failed).location,
            help=f"give {name} as {wanted}, or make the model {given[name]} with "
            f"model.to(torch.{given[name]})",
            notes=(f"torch says: {evidence(failed).text}",),
        )


def _tensors(failed: CaptureFailed) -> list[InputLeaf]:
    return [leaf for leaf in failed.loaded.leaves if hasattr(leaf.value, "dtype")]
