"""A captured graph gives what the model gives, at other sizes too."""

from __future__ import annotations

from typing import Any

import torch

from onnxpert.capture import capture
from onnxpert.core.types import Captured, InputKind, Request
from onnxpert.load import load
from onnxpert.verify.walk import Walk


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(4) * 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.arange(x.shape[0] * 2).reshape(-1, 2) + x.shape[0] // 2
        best = torch.topk(x @ self.weight, 2)
        return best.values * rows, x[x > 0].repeat(x.shape[0])


def test_sizes_are_those_of_the_values_given() -> None:
    model = Net().eval()
    given: Any = Request(model, (torch.ones(3, 4),), dynamic_shapes=({0: "rows"},))
    captured = capture(load(given))
    assert isinstance(captured, Captured)
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    inputs = [x if one.kind is InputKind.USER else one.tensor for one in captured.inputs]
    with torch.no_grad():
        found = Walk().run(captured.root, inputs)
        for one, other in zip(model(x), found, strict=True):
            torch.testing.assert_close(one, other)
