"""Pooling to a size that another input has, or that the data decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch.nn import functional

import onnxpert

Tensor = torch.Tensor


def along_one(x: Tensor, y: Tensor, count: Tensor) -> Any:
    rows = x.flatten(2)
    to_size = functional.adaptive_avg_pool1d(rows, y.shape[0] // 2 + 1)
    return to_size, functional.adaptive_avg_pool1d(rows, int(count))


def largest(x: Tensor, y: Tensor, count: Tensor) -> Any:
    sizes = (int(count), y.shape[0])
    rows = functional.adaptive_max_pool1d(x.flatten(2), y.shape[0])
    return functional.adaptive_max_pool2d(x, sizes), rows


def with_places(x: Tensor, y: Tensor, count: Tensor) -> Any:
    sizes = (None, y.shape[0])
    return functional.adaptive_max_pool2d(x * count, sizes, return_indices=True)


def as_high_as_it_is(x: Tensor, y: Tensor, count: Tensor) -> Any:
    return functional.adaptive_max_pool2d(x * count, (None, 2)), y * 2


def means(x: Tensor, y: Tensor, count: Tensor) -> Any:
    return functional.adaptive_avg_pool2d(x, (y.shape[0], int(count))), y * 2


@pytest.mark.parametrize("function", [along_one, largest, with_places, as_high_as_it_is, means])
def test_other_sizes(function: Callable[..., Any], tmp_path: Path) -> None:
    def given(height: int, width: int, size: int, count: int) -> tuple[Tensor, ...]:
        return torch.randn(2, 3, height, width), torch.randn(size), torch.tensor(count)

    torch.manual_seed(0)
    path = tmp_path / "m.onnx"
    dynamic = ({2: "h", 3: "w"}, {0: "n"}, None)
    onnxpert.export(function, given(6, 8, 4, 2), path, dynamic_shapes=dynamic)
    session = onnxruntime.InferenceSession(path)
    names = [entry.name for entry in session.get_inputs()]
    for sizes in ((7, 5, 3, 1), (4, 4, 1, 5), (3, 9, 11, 4)):
        values = given(*sizes)
        feeds = {n: v.numpy() for n, v in zip(names, values, strict=True)}
        for got, want in zip(session.run(None, feeds), function(*values), strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)
