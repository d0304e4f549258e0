"""Work that forward hands to a pool of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

import onnxpert


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(3, 2) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(lambda head: head(x), self.heads))
        return torch.cat(parts, -1)


def test_a_pool_is_followed() -> None:
    report = onnxpert.diagnose(Heads().eval(), (torch.randn(2, 3),), dynamic_shapes=({0: "n"},))
    assert report.ok, str(report)
