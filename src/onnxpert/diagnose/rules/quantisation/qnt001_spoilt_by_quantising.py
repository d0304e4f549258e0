"""Quantised files that are too far from the model, or that cannot run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxpert.core.types import Hit, Quantised, Severity
from onnxpert.diagnose.rule import rule

_NAMED = 3  # layers that the help names


@rule("QNT001", "spoilt-by-quantising", reads=Quantised, severity=Severity.ERROR, since="0.2")
def spoilt_by_quantising(quantised: Quantised) -> Iterator[Hit]:
    """
    ## What it does
    Finds quantised files whose outputs are further from the model than the bound allows, at any of
    the inputs that you gave: the example, further examples, calibration inputs. The distance is a
    share of the output's norm (10 % is a signal-to-noise ratio of 20 dB); of whole numbers it is the
    share that differs. A file that the runtime refuses, or that gives another shape at another size,
    is found as well.

    ## Why it matters
    A small file that gives other answers is of no use, and nothing but a measurement tells.

    ## Example
    ```python
    import torch


    class Difference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.a = torch.nn.Linear(64, 64, bias=False)
            self.b = torch.nn.Linear(64, 64, bias=False)
            self.b.weight.data = self.a.weight.data + 0.001 * torch.randn(64, 64)

        def forward(self, x):
            return self.a(x) - self.b(x)


    model = Difference().eval()
    args = (torch.linspace(-1, 1, 256).reshape(4, 64),)
    options = {"quantize": "int8-dynamic"}
    ```

    ## Use instead
    ```python
    import torch


    class Difference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.a = torch.nn.Linear(64, 64, bias=False)

        def forward(self, x):
            return self.a(x)


    model = Difference().eval()
    args = (torch.linspace(-1, 1, 256).reshape(4, 64),)
    options = {"quantize": "int8-dynamic"}
    ```

    ## Repair safety
    There is no repair: which layers may stay in float32, or how much error is fine, only you can say
    (`quantize_exclude=`, `quantize_bound=`).
    """
    if quantised.problem:
        yield Hit(
            f"there is no quantised file: {quantised.problem}",
            help="export without quantize=, or leave out what it names with quantize_exclude=",
        )
    for row in quantised.rows:
        if row.problem:
            yield Hit(
                f"the quantised file fails at {row.case}: {row.problem}",
                help="export without quantize=, or leave layers out with quantize_exclude=",
            )
    if quantised.error > quantised.bound:
        measured = [layer for layer in quantised.layers if layer.own and layer.kept is None]
        measured.sort(key=lambda layer: layer.own or 0.0, reverse=True)
        names = ", ".join(repr(layer.name) for layer in measured[:_NAMED])
        finite = math.isfinite(quantised.error)
        far = f"{quantised.error:.1%}" if finite else "more than can be said, NaN or infinities"
        more = f", or allow more, quantize_bound={quantised.error * 1.1:.2g}" if finite else ""
        yield Hit(
            f"{quantised.scheme} moves an output by {far}, and {quantised.bound:.1%} is allowed",
            at=measured[0].location if measured else None,
            help=f"leave the layers that hurt most in float32, quantize_exclude=[{names}]{more}",
        )
