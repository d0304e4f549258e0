"""Weights that a checkpoint has in another precision."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Filling, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("WGT004", "turned-weight", reads=Filling, severity=Severity.WARNING, since="0.3")
def turned_weight(filling: Filling) -> Iterator[Hit]:
    """
    ## What it does
    Finds weights that the checkpoint has in another floating-point type than the model or the file.
    They are converted as they are read, which is what `load_state_dict` does.

    ## Why it matters
    Digits may be lost, or the file may be twice as large as it has to be. And a weight that is
    converted cannot be pointed at: it is stored with the file.

    ## Example
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2, bias=False).eval()
    args = (torch.randn(3, 4),)
    options = {"weights": {"weight": torch.randn(2, 4).bfloat16()}}
    ```

    ## Use instead
    ```python
    import torch

    with torch.device("meta"):
        model = torch.nn.Linear(4, 2, bias=False).bfloat16().eval()
    args = (torch.randn(3, 4).bfloat16(),)
    options = {"weights": {"weight": torch.randn(2, 4).bfloat16()}}
    ```

    ## Repair safety
    Done by itself.
    """
    kinds = dict.fromkeys((one.wanted, one.given) for one in filling.cast)
    for wanted, given in kinds:
        keys = [one.key for one in filling.cast if (one.wanted, one.given) == (wanted, given)]
        shown = ", ".join(keys[:3]) + (", ..." if len(keys) > 3 else "")
        weights = "1 weight is" if len(keys) == 1 else f"{len(keys)} weights are"
        yield Hit(
            f"{weights} {given} in {filling.source} and {wanted} in the model: {shown}",
            help=f"build the model in {given} to keep them as they are: model.to(torch.{given})",
        )
