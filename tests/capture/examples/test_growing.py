"""Examples that are too small for a trace, beside sizes that go with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import nn

import onnxpert


class _Step(nn.Module):
    """The mask is as long as what is remembered and what is new."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        keys = torch.cat([past, x])
        scores = (x @ keys.mT).masked_fill(mask, -1e4)
        return scores.softmax(-1) @ keys


def _inputs(new: int, past: int) -> tuple[torch.Tensor, ...]:
    mask = torch.ones(new, new + past).triu(1 + past).bool()
    return torch.randn(new, 4), mask, torch.randn(past, 4)


def test_an_empty_cache_beside_a_mask_of_all(tmp_path: Path) -> None:
    path = tmp_path / "step.onnx"
    shapes = {"x": {0: "new"}, "mask": {0: "new", 1: "all"}, "past": {0: "past"}}
    onnxpert.export(_Step(), _inputs(3, 0), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for sizes in ((1, 3), (2, 1), (5, 0), (1, 0)):
        given = _inputs(*sizes)
        feeds = {
            entry.name: value.numpy()
            for entry, value in zip(session.get_inputs(), given, strict=True)
        }
        got = session.run(None, feeds)[0]
        np.testing.assert_allclose(_Step()(*given).numpy(), got, rtol=1e-4, atol=1e-5)
