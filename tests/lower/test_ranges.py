"""The range of a size that varies, as the file has it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxpert
from tests.capture.open_sizes.models import ranges


class Checks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Embedding(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.size(1) > 32:
            raise ValueError("too long")
        return x + self.places(torch.arange(x.size(1)))


class Multiples(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[1] % 4 == 0, "a multiple of 4"
        return x.reshape(x.shape[0], 4, -1).sum(1)


class Fits(nn.Module):
    """Two sizes of the picture make the features that the last layer takes."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(8, 4, 3, 2, 1)
        self.last = nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.convolution(x.transpose(1, 2)).flatten(1))


@pytest.mark.parametrize(
    ("model", "time", "wanted"), [(Checks(), 6, "1..32"), (Multiples(), 8, "4.."), (Fits(), 8, "7..8")]
)  # fmt: skip
def test_what_a_model_takes(model: nn.Module, time: int, wanted: str, tmp_path: Path) -> None:
    path, example = tmp_path / "range.onnx", torch.randn(2, time, 8)
    shapes = {"x": {0: "batch", 1: "time"}}
    report = onnxpert.export(model.eval(), (example,), path, dynamic_shapes=shapes)
    assert ranges(path) == {"batch": "1..", "time": wanted}
    bounded = [finding for finding in report.findings if finding.rule == "SHP203"]
    assert [found.location is not None and found.location.file for found in bounded] == [__file__]


def test_a_derived_size_has_the_range_of_its_root(tmp_path: Path) -> None:
    half = Dim("half", min=1, max=50)
    path = tmp_path / "derived.onnx"

    class Pairs(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.view(3, -1, 2).sum(-1) * y

    example = (torch.randn(3, 8), torch.randn(3, 4))
    shapes = {"x": {1: 2 * half}, "y": {1: half}}
    report = onnxpert.export(Pairs().eval(), example, path, dynamic_shapes=shapes)
    assert report.inputs == ("x: float32[3, 2*half]", "y: float32[3, half]")
    assert ranges(path) == {"half": "1..50"}
    assert not [finding for finding in report.findings if finding.rule == "SHP203"]


def test_an_empty_example_is_within_the_range(tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"

    class Joins(nn.Module):
        def forward(self, past: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([past, x])

    shapes = ({0: "past"}, {0: "new"})
    example = (torch.zeros(0, 4), torch.randn(2, 4))
    onnxpert.export(Joins().eval(), example, path, dynamic_shapes=shapes)
    assert ranges(path) == {"past": "0..", "new": "1.."}


def test_sizes_that_grow_together_have_no_end(tmp_path: Path) -> None:
    path = tmp_path / "together.onnx"

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, query: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
            return self.attention(query, memory, memory, need_weights=False)[0]

    example = (torch.randn(2, 3, 8), torch.randn(2, 5, 8))
    onnxpert.export(Attends().eval(), example, path, dynamic_shapes="auto")
    assert set(ranges(path).values()) == {"1.."}


def test_distances_of_few_and_of_many(tmp_path: Path) -> None:
    path = tmp_path / "distances.onnx"

    class Measures(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.cdist(a, b)

    example = (torch.randn(3, 4), torch.randn(5, 4))
    onnxpert.export(Measures().eval(), example, path, dynamic_shapes=({0: "n"}, {0: "m"}))
    assert ranges(path) == {"n": "1..", "m": "1.."}
    onnxpert.export(Measures().eval(), example, path, dynamic_shapes="auto")
    assert set(ranges(path).values()) == {"1.."}


class Squares(nn.Module):
    """What the first side asks of one size, where both are one, is nothing to the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        height, width = x.shape
        places = x.sum() + torch.zeros((height // 4) * (width // 4) + 1)
        if places.shape[0] == 17 and height == width:
            return places + torch.ones(17)
        return places * 2


def test_what_one_side_assumes_is_no_range(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(Squares(), (torch.randn(16, 24),), path, dynamic_shapes=({0: "h", 1: "w"},))
    assert ranges(path) == {"h": "1..", "w": "1.."}


def test_an_end_that_only_the_file_has_is_not_told_as_the_models() -> None:
    given = (torch.randn(3, 4), torch.randn(2, 5, 4))  # torch asks whether there are more than 25
    report = onnxpert.diagnose(torch.cdist, given, dynamic_shapes="auto")
    assert any("the model may take more" in found.message for found in report.findings)
    assert not any("and so does the file" in found.message for found in report.findings)
