"""A flag or a word among the inputs."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Number

from onnxpert.core.flatten import is_tensor
from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.rule import rule


@rule("INP116", "frozen-flag", reads=Loaded, severity=Severity.INFO, since="0.2")
def frozen_flag(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds booleans, strings and objects without tensors among the example inputs: the file has no
    input for them.

    ## Why it matters
    The file does what the flag of the example says, for ever.

    ## Example
    ```python
    import torch


    class Doubles(torch.nn.Module):
        def forward(self, x, twice):
            return x * 4 if twice else x * 2


    model = Doubles().eval()
    args = (torch.randn(3), True)
    ```

    ## Use instead
    ```python
    import torch


    class Doubles(torch.nn.Module):
        def forward(self, x, twice):
            return torch.where(twice, x * 4, x * 2)


    model = Doubles().eval()
    args = (torch.randn(3), torch.tensor(True))
    ```

    ## Repair safety
    Nothing to repair, if the flag is a setting.
    """
    for leaf in loaded.leaves:
        if isinstance(leaf.value, (bool, str)):
            yield Hit(
                f"{leaf.path} is {leaf.value!r} in the example, and so it is in the file",
                at=loaded.source,
                help=f"export once for each value of {leaf.path}, or make it a tensor",
            )
        elif _is_object(leaf.value):
            yield Hit(
                f"{leaf.path} is a {type(leaf.value).__qualname__}, and the file keeps what the model "
                "does with that one",
                at=loaded.source,
                help=f"export once for each {leaf.path}, or give the model the tensors that it makes",
            )


def _is_object(value: object) -> bool:
    """Neither a tensor nor a number, which are other rules'."""
    return value is not None and not isinstance(value, Number) and not is_tensor(value)
