"""A model whose result is random."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Verified
from onnxpert.diagnose.rule import rule


@rule("NUM702", "random-result", reads=Verified, severity=Severity.ERROR, since="0.1")
def random_result(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Calls the model twice on the same input, with different seeds, and finds results that differ.

    ## Why it matters
    There is no value to prove the file against: its random numbers are others than torch's.

    ## Example
    ```python
    import torch


    class Noisy(torch.nn.Module):
        def forward(self, x):
            return x + torch.randn_like(x)


    model = Noisy().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Noisy(torch.nn.Module):
        def forward(self, x, noise):
            return x + noise


    model = Noisy().eval()
    args = (torch.randn(3), torch.randn(3))
    ```

    ## Repair safety
    Not repaired: give the noise as an input, or ask for the file unproven with `verify=False`.
    """
    if verified.nondeterministic:
        yield Hit(
            "the model gives random results, so no value can be proven",
            at=verified.location,
            help="give the random tensor as an input, or ask for the unproven file with verify=False",
        )
