"""float8: moved about, computed with and compared as torch does it, at opsets with it and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxpert

CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "shape": lambda x: (x.unsqueeze(0), x.reshape(-1), x.flatten(), x.transpose(0, 1)),
    "slice": lambda x: (x[:1], x[..., None], x[:, ::2], x.narrow(1, 0, 1), x.select(0, 1)),
    "split": lambda x: (*x.chunk(2, 1), x.unbind(0)[-1]),
    "join": lambda x: (torch.cat([x, x], 1), x.expand(2, 3, 4), x.repeat_interleave(2, 1)),
    "pick": lambda x: (x.index_select(0, torch.tensor([2, 0])), torch.diagonal(x), x.roll(1, 0)),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2)),
    "choose": lambda x: torch.where(x.float() > 0, x, x.flip(0)),
    "wide": lambda x: (x.float().sum(1), x.half() * 2, x.to(torch.bfloat16) + 1),
    "narrow": lambda x: (x.float() * 1000).to(x.dtype),  # beyond its range: NaN, or infinity
    "tests": lambda x: (torch.isnan(x), x.any(1)),
    "negative zero": lambda x: (x.float() * -0.0).to(x.dtype).bool(),
}


class Model(torch.nn.Module):
    def __init__(self, call: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: torch.Tensor) -> Any:
        return self.call(x)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("opset", [19, 23])
def test_float8(name: str, dtype: torch.dtype, opset: int, tmp_path: Path) -> None:
    x = torch.linspace(-3, 3, 12).reshape(3, 4).to(dtype)
    report = onnxpert.export(Model(CALLS[name]), (x,), tmp_path / "net.onnx", opset_version=opset)
    assert report.ok
