"""Tables that a module keeps by size."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.capture.open_sizes.models import assert_same


class Masks(nn.Module):
    def __init__(self, *known: int) -> None:
        super().__init__()
        self._kept: dict[int, torch.Tensor] = {}
        for size in known:
            self.mask(size)

    def mask(self, size: int) -> torch.Tensor:
        if size not in self._kept:
            self._kept[size] = torch.full((size, size), -1e9).triu(1)
        return self._kept[size]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ x.transpose(1, 2) + self.mask(x.shape[1])).softmax(-1) @ x


class Places(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (x.shape[1], x.dtype)
        found = self.kept.get(key)
        if found is None:
            found = self.kept.setdefault(key, torch.arange(x.shape[1], dtype=x.dtype)[:, None])
        return x + found


class Factors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factors = {6: 2.0, 3: 5.0}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factors.get(x.shape[1], 1.0)


@pytest.mark.parametrize("model", [Masks(), Masks(6, 7), Places(), Factors()], ids=str)
def test_a_table_by_size(model: nn.Module, tmp_path: Path) -> None:
    before = {name: dict(value) for name, value in vars(model).items() if type(value) is dict}
    sizes = ((1, 20, 4), (2, 1, 4), (1, 3, 4), (1, 7, 4))
    shapes = {"x": {0: "batch", 1: "time"}}
    report = assert_same(model, (2, 6, 4), (), shapes, tmp_path / "example.onnx")
    assert report.ok
    for name in ("_kept", "kept", "factors"):  # nothing of the capture is left in it
        for key, value in getattr(model, name, {}).items():
            assert type(key) in (int, tuple)
            assert type(value) in (torch.Tensor, float)
            assert name == "factors" or key in before[name] or key in (6, (6, torch.float32))
    assert_same(model, (2, 6, 4), sizes, shapes, tmp_path / "table.onnx")
