"""Lists as long as a size says, taken apart and put together as Python does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Turned(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(x.split(2, 1)[::-1], 1)


class FirstOnly(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.stack(x.split(2, 1)[:1])


class FirstAndRest(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        first, *rest = x.split(2, 1)
        y = first.sum()
        for part in rest:
            y = y * 0.5 + part.sum()
        return y, len(rest)


class RestAndLast(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        first, *rest, last = x.unbind(1)
        return torch.stack([last, *rest], 1) + first.mean()


class Rotated(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        parts = list(x.unbind(1))
        return torch.stack(parts[-1:] + parts[:-1], 1)


class StarsTogether(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        first, *rest = x.split(2, 1)
        return torch.cat([*rest, first], 1)


class ByTwos(nn.Module):
    """A list takes the name of another in each turn, and its own is there anew in the next."""

    def forward(self, x: Tensor) -> Tensor:
        rows = list(x.unbind(1))
        while len(rows) > 1:
            fewer = []
            for i in range(0, len(rows) - 1, 2):
                fewer.append(torch.tanh(rows[i] + 2 * rows[i + 1]))  # noqa: PERF401
            if len(rows) % 2:
                fewer.append(rows[-1])
            rows = fewer
        return rows[0]


_KINDS = [Turned, FirstOnly, FirstAndRest, RestAndLast, Rotated, StarsTogether, ByTwos]


@pytest.mark.parametrize("kind", _KINDS)
def test_it_is_right_at_every_size(kind: Callable[[], nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "m.onnx"
    shapes = {"x": {0: "b", 1: "n"}}
    onnxpert.export(model, (torch.randn(2, 7),), path, dynamic_shapes=shapes)
    session = ort.InferenceSession(path)
    for size in (1, 2, 4, 11) if kind is not RestAndLast else (2, 5):
        x = torch.randn(3, size)
        meant = model(x)
        for found, one in zip(
            session.run(None, {"x": x.numpy()}),
            meant if isinstance(meant, tuple) else (meant,),
            strict=True,
        ):
            np.testing.assert_allclose(found, np.asarray(one), rtol=1e-4, atol=1e-5)
