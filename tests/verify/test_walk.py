"""A captured graph gives what the model gives, at other sizes too."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxpert.capture import capture
from onnxpert.core.types import Captured, InputKind, Request
from onnxpert.load import load
from onnxpert.verify.walk import Plans, Walk


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(4) * 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.arange(x.shape[0] * 2).reshape(-1, 2) + x.shape[0] // 2
        best = torch.topk(x @ self.weight, 2)
        return best.values * rows, x[x > 0].repeat(x.shape[0])


class Switching(torch.nn.Module):
    """A loop that the data decide in, whose state is a truth of Python's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        on, seen = False, []
        for value in x[:, 0]:
            if not on and value > 0.5:
                on = True
            elif on and value < -0.5:
                on = False
            seen.append(float(on))
        return torch.tensor(seen)


class Recurring(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state, states = x[0], []
        for row in x[1:]:
            state = torch.tanh(state + row)
            states.append(state)
        return state, torch.stack(states) if states else x[:0]


class WrittenTwice(torch.nn.Module):
    """What was written before a branch is not written again in it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, mean = torch.tanh(x), x.mean(0) * 2
        for _ in range(2):
            if mean.round()[0] > mean.round()[1]:
                if x.shape[0] > 1:
                    mean = mean * 0.9
                    continue
                kept.mul_(0.5)
            mean = mean * 0.3
        return kept + mean


class OddOnes(torch.nn.Module):
    """To torch, whose sizes are two and more, what is not above two is even."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x[0, 0] > x[0, 1] and (x.shape[0] > 2 or x.shape[0] % 2 == 0):
            return x * 2
        return x * 3


@pytest.mark.parametrize("kind", [Net, Switching, Recurring, WrittenTwice, OddOnes])
def test_sizes_are_those_of_the_values_given(kind: type[torch.nn.Module]) -> None:
    model = kind().eval()
    given: Any = Request(model, (torch.ones(3, 4),), dynamic_shapes=({0: "rows"},))
    captured = capture(load(given))
    assert isinstance(captured, Captured)
    plans = Plans()
    for seed in range(16):
        x = torch.randn((1, 5, 2)[seed % 3], 4, generator=torch.Generator().manual_seed(seed))
        inputs = [x if one.kind is InputKind.USER else one.tensor for one in captured.inputs]
        with torch.no_grad():
            found, wanted = Walk(plans).run(captured.root, inputs), model(x)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for one, other in zip(wanted, found, strict=True):
            torch.testing.assert_close(one, other)
