"""A list of tensors among the inputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from onnxpert.core.flatten import is_tensor
from onnxpert.core.surrounding import gone_through
from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.rule import rule

_ITEM = re.compile(r"(.+)\[\d+\]")


@rule("SHP211", "frozen-list-length", reads=Loaded, severity=Severity.INFO, since="0.2")
def frozen_list_length(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds lists and dictionaries of tensors among the inputs: the file has one input per tensor.

    ## Why it matters
    The file takes as many as the example has, and no other number.

    ## Example
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, xs):
            return torch.stack(xs).sum(0)


    model = Sums().eval()
    args = ([torch.randn(3), torch.randn(3)],)
    ```

    ## Use instead
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, x):
            return x.sum(0)


    model = Sums().eval()
    args = (torch.randn(2, 3),)
    ```

    ## Repair safety
    Nothing to repair, if their number is fixed.
    """
    tensors = [leaf for leaf in loaded.leaves if is_tensor(leaf.value)]
    counts = Counter(match[1] for leaf in tensors if (match := _ITEM.fullmatch(leaf.path)))
    for path, count in counts.items():
        if count > 1:
            yield Hit(
                f"{path} holds {count} tensors in the example, and the file takes exactly that many",
                at=gone_through(loaded.source, path) or loaded.source,
                help="stack them into one tensor with a dynamic dimension, if their number varies",
            )
