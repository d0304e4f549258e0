"""Interpolation by a factor that is made of a size."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import onnxpert


class Stretched(torch.nn.Module):
    """A table as large as the input is, and a little more."""

    def __init__(self, axes: int, mode: str, dtype: torch.dtype) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 2, *[5, 4, 3][:axes], dtype=dtype))
        self.mode = mode

    def forward(self, x: Tensor) -> Tensor:
        factors = [(size + 0.1) / old for size, old in zip(x.shape, self.table.shape[2:])]  # noqa: B905 - of as many as there are
        return functional.interpolate(self.table, scale_factor=factors, mode=self.mode) * x.mean()


@pytest.mark.parametrize(
    ("mode", "axes", "dtype"),
    [
        ("nearest", 1, torch.float32),
        ("nearest", 2, torch.float64),
        ("nearest-exact", 2, torch.float32),
        ("linear", 1, torch.float64),
        ("bilinear", 2, torch.float32),
        ("bicubic", 2, torch.float32),
        ("bicubic", 2, torch.float64),
        ("trilinear", 3, torch.float32),
    ],
)
def test_a_factor_stays_open(mode: str, axes: int, dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Stretched(axes, mode, dtype), tmp_path / "m.onnx"
    names = "hwd"[:axes]
    shapes = (dict(enumerate(names)),)
    onnxpert.export(model, (torch.randn(7, 6, 5),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path)
    for sizes in ((1, 1, 1), (3, 8, 2), (11, 2, 9), (5, 4, 3)):
        x = torch.randn(*sizes[:axes], *(7, 6, 5)[axes:])
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x), rtol=1e-3, atol=1e-5)


def test_corners_are_told_by_the_sizes_alone(tmp_path: Path) -> None:
    def doubled(x: Tensor, y: Tensor) -> Tensor:
        return functional.interpolate(
            x, scale_factor=y.shape[0] / 2, mode="bilinear", align_corners=True
        )

    path, given = tmp_path / "m.onnx", (torch.randn(1, 2, 4, 5), torch.randn(3))
    onnxpert.export(doubled, given, path, dynamic_shapes=(None, {0: "n"}))
    session = onnxruntime.InferenceSession(path)
    for size in (1, 2, 5):
        x, y = torch.randn(1, 2, 4, 5), torch.randn(size)
        (got,) = session.run(None, dict(zip(("x", "y"), (x.numpy(), y.numpy()), strict=True)))
        torch.testing.assert_close(torch.tensor(got), doubled(x, y), rtol=1e-3, atol=1e-5)
