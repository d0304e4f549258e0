"""The dtype a model computes in, whatever the dtype it answers in."""

from __future__ import annotations

import torch
from torch import nn

from onnxpert.verify.precision import Watch, coarsest


def watched(model: nn.Module) -> str:
    with Watch() as watch, torch.no_grad():
        model(torch.randn(2, 3))
    return coarsest(watch.seen)


def test_plain() -> None:
    assert watched(nn.Linear(3, 3)) == "float32"


def test_autocast() -> None:
    class Cast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return self.linear(x).float()

    assert watched(Cast()) == "bfloat16"


def test_the_coarsest_of_several() -> None:
    assert coarsest([torch.float64, torch.float16, torch.int64]) == "float16"
    assert coarsest([torch.float16, torch.bfloat16, torch.float32]) == "bfloat16"
    assert coarsest([torch.int64]) == ""
