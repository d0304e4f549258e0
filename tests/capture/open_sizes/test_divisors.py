"""Divisors and multiples that a size and a number have in common."""

from __future__ import annotations

import math
from math import gcd
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import nn

import onnxpert


class Groups(nn.Module):
    """As many groups as go into a size, and as much more as makes it whole."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        size = x.shape[1]
        count = math.gcd(size, 12)
        groups = x.reshape(x.shape[0], count, -1)
        more = nn.functional.pad(x, (0, math.lcm(size, 6) - size))
        return (groups - groups.mean(-1, keepdim=True)).reshape(x.shape), more, x * gcd(8, size, 20)


def test_they_are_right_at_every_size(tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", Groups()
    onnxpert.export(model, (torch.randn(2, 8),), path, dynamic_shapes=({0: "rows", 1: "columns"},))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for columns in (1, 2, 3, 4, 6, 12, 17, 24, 30):
        x = torch.randn(3, columns)
        for got, want in zip(session.run(None, {"x": x.numpy()}), model(x), strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)
