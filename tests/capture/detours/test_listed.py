"""Tensors made of sizes vary with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert

MAKERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "number": lambda x: x / torch.tensor(x.shape[1]),
    "list": lambda x: x.sum() + torch.tensor([x.shape[0], x.shape[1] * 2]),
    "fraction": lambda x: x.sum() * torch.tensor([x.shape[0] / 3, 0.5]),
    "nested": lambda x: x.sum() + torch.tensor([[x.shape[0], 1], [2, x.shape[1]]]),
    "dtype": lambda x: torch.tensor(x.shape[1], dtype=torch.float32).sqrt() * x,
    "as tensor": lambda x: x + torch.as_tensor((x.shape[0], 7)).sum(),
    "new tensor": lambda x: x.new_tensor([x.shape[0], x.shape[1]]).log() + x.sum(),
    "whole list": lambda x: x.sum() + torch.tensor(x.shape),
    "elements": lambda x: torch.tensor([x.sum(), x.double().mean(), 2]),
    "truths": lambda x: torch.tensor([[x.max() > 9, True], [x.min() < -9, False]]),
    "truths of sizes": lambda x: torch.tensor([x.shape[0] > 2, True, x.shape[1] % 3 == 0]),
    "a truth of sizes": lambda x: x * torch.tensor(x.shape[1] > 4, dtype=torch.float32),
    "elements and sizes": lambda x: x.new_tensor([x.shape[0], (x > 0).sum()]),
    "as many as a size": lambda x: torch.tensor([row.sum() for row in x]) + 1,
    "taken apart": lambda x: torch.cat(
        [torch.arange(h * w) for h, w in torch.as_tensor([tuple(x.shape), (2, 3)])]
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_tensor_of_sizes(make: Callable[[torch.Tensor], Any], tmp_path: Path) -> None:
    class Makes(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return make(x)

    path = tmp_path / "made.onnx"
    shapes = {"x": {0: "rows", 1: "columns"}}
    assert onnxpert.export(Makes().eval(), (torch.randn(3, 4),), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for size in ((1, 1), (5, 2), (2, 9)):
        x = torch.randn(size)
        want, got = make(x), session.run(None, {"x": x.numpy()})[0]
        assert str(want.dtype).removeprefix("torch.") == str(got.dtype)
        np.testing.assert_allclose(want.numpy(), got, rtol=1e-5, atol=1e-5)


def test_a_list_of_numbers_is_left_to_torch() -> None:
    report = onnxpert.diagnose(
        lambda x: x + torch.tensor([1, 2]), (torch.randn(3, 2),), dynamic_shapes={"x": {0: "rows"}}
    )
    assert report.ok


def test_what_is_reckoned_from_sizes_is_a_size() -> None:
    class Halves(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            half = torch.div(x.shape[1], 2, rounding_mode="trunc")
            return x.new_zeros(x.shape[0], half - 1 + 2 * half) + x.mean()

    report = onnxpert.diagnose(
        Halves().eval(), (torch.randn(3, 8),), dynamic_shapes={"x": {0: "rows", 1: "columns"}}
    )
    assert report.ok
    assert "SHP212" not in [found.rule for found in report.findings]  # what the data decide


def test_a_difference_of_sizes_is_not_rounded_down() -> None:
    class Cuts(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.div(x.shape[1] - torch.tensor(10), 4, rounding_mode="trunc")

    shapes = {"x": {0: "rows", 1: "columns"}}
    assert onnxpert.diagnose(Cuts().eval(), (torch.randn(3, 8),), dynamic_shapes=shapes).ok
