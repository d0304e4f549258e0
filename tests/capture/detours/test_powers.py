"""Powers up to a size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

import onnxpert

Tensor = torch.Tensor


class Powers(torch.nn.Module):
    def forward(self, x: Tensor) -> Any:
        half = x.shape[0] // 2 + 1
        return torch.vander(x), torch.vander(x, N=half, increasing=True), torch.linalg.vander(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_as_many_as_a_size_says(dtype: torch.dtype, tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", Powers()
    onnxpert.export(
        model, (torch.tensor([3, 1, 2, 5]).to(dtype),), path, dynamic_shapes=({0: "n"},)
    )
    session = onnxruntime.InferenceSession(path)
    for size in (2, 3, 7):
        x = (torch.arange(size) - 1).to(dtype)
        for found, meant in zip(session.run(None, {"x": x.numpy()}), model(x), strict=True):
            np.testing.assert_allclose(found, meant.numpy(), rtol=1e-5)
            assert found.dtype == meant.numpy().dtype
