"""What is rounded of a quotient of sizes is made of whole numbers, and is the same number."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import sympy
import torch
from torch import Tensor, nn
from torch.utils._sympy.functions import CeilToInt, FloorToInt, IntTrueDiv, ToFloat, TruncToInt

import onnxpert
from onnxpert.capture.open_sizes.whole_quotients import quotients_whole

N = sympy.Symbol("n", integer=True, positive=True)
ROUNDED: dict[Any, Callable[[float], int]] = {
    CeilToInt: math.ceil,
    FloorToInt: math.floor,
    TruncToInt: math.trunc,
}


@pytest.mark.parametrize("kind", ROUNDED)
@pytest.mark.parametrize("by", [1, 2, 3, 7])
@pytest.mark.parametrize(("number", "more"), [(N, 0), (N + 4, 1.0), (2 * N - 2, 1.0)])
def test_a_quotient_that_is_rounded_has_no_fraction(
    kind: Any, by: int, number: Any, more: float
) -> None:
    with quotients_whole():
        found = kind(IntTrueDiv(number, sympy.Integer(by)) + sympy.Float(more))
    assert not found.has(IntTrueDiv)
    assert not found.has(sympy.Float)
    for size in range(1, 30):
        want = ROUNDED[kind](int(number.subs(N, size)) / by + more)
        assert int(found.xreplace({N: sympy.Integer(size)})) == want


@pytest.mark.parametrize(
    "number",
    [
        IntTrueDiv(N, sympy.Integer(2)) + sympy.Float(0.5),
        IntTrueDiv(N, sympy.Integer(2)) + IntTrueDiv(N, sympy.Integer(3)),
        ToFloat(N) * sympy.Float(0.3),
        IntTrueDiv(N - 5, sympy.Integer(2)),  # less than nothing, perhaps
    ],
)
def test_what_would_be_another_number_stays(number: Any) -> None:
    with quotients_whole():
        assert isinstance(TruncToInt(number), TruncToInt)


class Strided(nn.Module):
    """As audio is padded: to what the next layer takes whole, and mirrored only where it is long enough."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(2, 2, 2 * stride, stride) for stride in (2, 3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            window, stride, length = layer.kernel_size[0], layer.stride[0], x.shape[-1]
            frames = math.ceil((length - window + stride) / stride + 1) - 1
            missing = frames * stride + stride - length
            if length > max(stride, missing):
                x = nn.functional.pad(x, (missing - missing // 2, missing // 2), "reflect")
            else:
                x = nn.functional.pad(x, (window, window))
            x = layer(x)
        return x


def test_layers_of_strides_ask_in_whole_numbers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, shapes = tmp_path / "m.onnx", ({0: "batch", 2: "samples"},)
    onnxpert.export(Strided().eval(), (torch.randn(2, 2, 60),), path, dynamic_shapes=shapes)
    assert "Ceil" not in {node.op_type for node in onnx.load(path).graph.node}
