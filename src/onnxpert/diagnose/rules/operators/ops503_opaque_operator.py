"""A custom operator into which nobody can look."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Lowered, Severity, Unsupported
from onnxpert.diagnose.rule import rule


@rule("OPS503", "opaque-operator", reads=Lowered, severity=Severity.ERROR, since="0.1")
def opaque_operator(lowered: Lowered) -> Iterator[Hit]:
    """
    ## What it does
    Finds custom operators and autograd functions whose bodies cannot be followed: compiled ones
    (C++, CUDA, Triton), and those that leave torch on the way (NumPy, a library of their own).
    A body of torch operators is followed with no help.

    ## Why it matters
    What an operator computes must be known to be written down. Here only its name is.

    ## Example
    ```python
    import torch


    @torch.library.custom_op("ops503::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() * 2)


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import onnxpert
    import torch


    @torch.library.custom_op("ops503::described_twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() * 2)


    @onnxpert.lowering("ops503::described_twice")
    def twice_in_onnx(op, x):
        return op.Mul(x, 2.0)


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    options = {"plugins": [twice_in_onnx]}
    ```

    ## Repair safety
    Not repaired: only its author knows what it computes. A lowering is three lines and is proven
    like everything else. See docs/custom-operators.md.
    """
    for missing in lowered.unsupported:
        if missing.opaque is None or missing.broken or missing.symbolic:
            continue
        yield Hit(
            f"{missing.op} is opaque: {missing.opaque.reason}",
            at=missing.location,
            help=_help(missing),
            notes=_notes(missing),
        )
        if missing.opaque.location is not None:
            yield Hit(
                f"this is where the body of {missing.op} cannot be followed",
                at=missing.opaque.location,
                severity=Severity.INFO,
                help="with operators of torch's in its place, no lowering is needed",
            )


def _help(missing: Unsupported) -> str:
    namespace, dot, name = missing.op.partition(".")
    if not dot:  # an autograd function
        return f"write a lowering, @onnxpert.lowering({missing.op}), and give it as plugins=[...]"
    return (
        f'write a lowering, @onnxpert.lowering("{namespace}::{name}"), and give it as '
        f'plugins=[...]; or keep it as a node with custom_domains={{"{namespace}": "com.example"}}'
    )


def _notes(missing: Unsupported) -> tuple[str, ...]:
    place = missing.opaque.location if missing.opaque else None
    if place is None:
        return ()
    return (
        f"its body stops at {place.file}:{place.line}" + (f": {place.code}" * bool(place.code)),
    )
