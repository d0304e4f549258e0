"""A `symbolic` of the old exporter's that cannot be run without it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS509", "uninterpretable-symbolic", reads=Lowered, severity=Severity.ERROR, since="0.1")
def uninterpretable_symbolic(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Finds `symbolic` methods, and `torch.onnx.register_custom_op_symbolic` functions, that ask more
    of the old exporter's graph than `g.op(...)` and what is known of a value's type. They are only
    asked where the body itself cannot be followed.

    ## Why it matters
    The old exporter's graph is gone, and the symbolic was the only thing that could be read.

    ## Example
    ```python
    import torch


    class Doubled(torch.autograd.Function):
        @staticmethod
        def symbolic(g, x):
            return x.node().graph().copy()

        @staticmethod
        def forward(ctx, x):
            return torch.from_numpy(x.numpy() * 2)


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return Doubled.apply(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Doubled(torch.autograd.Function):
        @staticmethod
        def symbolic(g, x):
            return g.op("Mul", x, g.op("Constant", value_t=torch.tensor(2.0)))

        @staticmethod
        def forward(ctx, x):
            return torch.from_numpy(x.numpy() * 2)


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return Doubled.apply(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    for missing in lowered.unsupported:
        if missing.symbolic is None:
            continue
        notes = (f"its body cannot be followed: {missing.opaque.reason}",) if missing.opaque else ()
        yield Hit(
            f"the symbolic of {missing.op} is not understood: {missing.symbolic.reason}",
            at=missing.symbolic.location or missing.location,
            help=f"write it as a lowering: @onnxpert.lowering({missing.op}), and plugins=[...]",
            notes=notes,
        )
