"""Weights that forward reads and writes through `.data`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import onnxpert


class Masked(torch.nn.Conv2d):
    """A layer that masks its weight in every call, as those of autoregressive models do."""

    mask: torch.Tensor

    def __init__(self) -> None:
        super().__init__(2, 3, 3, padding=1)
        self.register_buffer("mask", torch.ones_like(self.weight))
        self.mask[:, :, 1, 2:] = 0
        self.mask[:, :, 2:] = 0

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.weight.data *= self.mask
        return super().forward(input)


class Replaced(Masked):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.weight.data = self.weight.data * self.mask
        return torch.nn.Conv2d.forward(self, input)


class Growing(torch.nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.weight.data *= 1.5
        return super().forward(input)


class Reading(torch.nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) + input @ self.weight.data.t()


@pytest.mark.parametrize("layer", [Masked, Replaced])
def test_a_write_that_is_the_same_every_time(layer: type[Masked], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = layer().eval()
    report = onnxpert.export(
        model, (torch.randn(2, 2, 6, 6),), tmp_path / "m.onnx", dynamic_shapes=({0: "batch"},)
    )
    assert [found.rule for found in report.findings] == ["STA301"]
    x = torch.randn(3, 2, 6, 6)
    (result,) = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(
        None, {"input": x.numpy()}
    )
    np.testing.assert_allclose(result, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_a_write_that_goes_on_is_refused_and_undone(tmp_path: Path) -> None:
    model = Growing(4, 4).eval()
    before = model.weight.detach().clone()
    with pytest.raises(onnxpert.ExportError, match="STA301"):
        onnxpert.export(model, (torch.randn(2, 4),), tmp_path / "m.onnx")
    assert type(model.weight.data) is torch.Tensor
    assert torch.equal(model.weight, before)


def test_data_that_is_read_is_the_weight_itself(tmp_path: Path) -> None:
    model = Reading(4, 4).eval()
    assert onnxpert.export(model, (torch.randn(2, 4),), tmp_path / "m.onnx").ok
    names = [one.name for one in onnx.load(tmp_path / "m.onnx").graph.initializer]
    assert names.count("weight") == 1
    assert not any(name.startswith("constant") for name in names)
