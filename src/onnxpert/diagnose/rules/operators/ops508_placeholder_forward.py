"""A function that computes nothing in torch, because only its `symbolic` says what it means."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS508", "placeholder-forward", reads=Captured, severity=Severity.ERROR, since="0.1")
def placeholder_forward(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds autograd functions with a `symbolic` whose forward only makes a tensor of the right shape:
    none of the values it is given reaches its result.

    ## Why it matters
    A file is proven against what the model computes, and this part of it computes nothing. The
    file would hold the placeholder.

    ## Example
    ```python
    import torch


    class Fused(torch.autograd.Function):
        @staticmethod
        def symbolic(g, x):
            return g.op("my.domain::Fused", x)

        @staticmethod
        def forward(ctx, x):
            return torch.zeros_like(x)


    class Fuses(torch.nn.Module):
        def forward(self, x):
            return Fused.apply(x) + 1


    model = Fuses().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Fused(torch.autograd.Function):
        @staticmethod
        def symbolic(g, x):
            return g.op("my.domain::Fused", x)

        @staticmethod
        def forward(ctx, x):
            return x.tanh() * x


    class Fuses(torch.nn.Module):
        def forward(self, x):
            return Fused.apply(x) + 1


    model = Fuses().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired: what the function shall compute is not written anywhere.
    """
    for one in captured.placeholders:
        yield Hit(
            f"the forward of {one.function} is a placeholder: its result ignores what it is given",
            at=one.location,
            help="let forward compute what `symbolic` stands for; or, for a kernel that only the "
            f"runtime has, write @onnxpert.lowering({one.function}) with that node and verify=False",
        )
