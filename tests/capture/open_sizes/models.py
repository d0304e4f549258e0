"""A model of one function, exported and run at other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import nn

import onnxpert


class Calls(nn.Module):
    def __init__(self, call: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: torch.Tensor) -> Any:
        return self.call(x)


def assert_same(
    model: nn.Module,
    example: Sequence[int],
    sizes: Sequence[Sequence[int]],
    shapes: Any,
    path: Path,
) -> onnxpert.Report:
    """The file gives what the model gives, at the example and at the other sizes."""
    torch.manual_seed(0)
    report = onnxpert.export(model.eval(), (torch.randn(example),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for size in (example, *sizes):
        x = torch.randn(tuple(size))
        with torch.no_grad():
            given = model(x)
        wanted = given if isinstance(given, tuple) else (given,)
        for want, got in zip(wanted, session.run(None, {"x": x.numpy()}), strict=True):
            np.testing.assert_allclose(
                want.numpy() if isinstance(want, torch.Tensor) else want, got, rtol=1e-4, atol=1e-5
            )
    return report


def ranges(path: Path) -> dict[str, str]:
    """The range of each dimension, as the file says it."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    table = session.get_modelmeta().custom_metadata_map
    prefix = "onnxpert.dim."
    return {key.removeprefix(prefix): table[key] for key in table if key.startswith(prefix)}
