"""Constants that a way of capturing makes without values: never a file, and never a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import onnxpert


class Window(torch.nn.Module):
    """NumPy on the way in and on the way out, of a size that shall vary."""

    def forward(self, wave: Tensor) -> Tensor:
        length = wave.shape[-1]
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
        x = wave * torch.from_numpy(window).float()
        energy = np.log(np.sum(np.square(x.detach().numpy()), axis=-1) + 1e-6)
        return torch.tensor(energy, dtype=torch.float32).unsqueeze(-1) * 0.7


def test_what_blocks_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    dynamic = {"wave": {0: "batch", 1: "samples"}}
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(
            Window().eval(), (torch.randn(2, 64),), path, dynamic_shapes=dynamic, repair="off"
        )
    places = {f.location.line for f in caught.value.report.findings if f.blocks and f.location}
    assert places
    assert not path.exists()
