"""Kernels that do not look at the sizes they are given: other sizes are not tried on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import torch

import onnxpert

_ALL = torch.export.Dim.AUTO


def _axes(*tensors: torch.Tensor) -> Any:
    return tuple(dict.fromkeys(range(tensor.dim()), _ALL) for tensor in tensors)


def _shapes(folder: Path) -> list[list[str]]:
    given = onnx.load(folder / "m.onnx").graph.input
    return [[dim.dim_param for dim in one.type.tensor_type.shape.dim] for one in given]


def test_a_row_of_offsets_for_every_row_of_data(tmp_path: Path) -> None:
    def model(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return torch.segment_reduce(data, "sum", offsets=offsets, axis=1)

    args = (torch.randn(4, 5, 3), torch.tensor([[0, 2, 5]]).repeat(4, 1))
    onnxpert.export(model, args, tmp_path / "m.onnx", dynamic_shapes=_axes(*args))
    data, offsets = _shapes(tmp_path)
    assert data[0] == offsets[0]
    assert data[1] != offsets[1]


def test_a_pivot_for_every_row(tmp_path: Path) -> None:
    def model(data: torch.Tensor, pivots: torch.Tensor) -> torch.Tensor:
        permutation: torch.Tensor = torch.lu_unpack(data, pivots)[0]
        return permutation

    data, pivots = torch.linalg.lu_factor(torch.randn(2, 4, 4))
    given = (data, pivots)
    onnxpert.export(model, given, tmp_path / "m.onnx", dynamic_shapes=_axes(*given))
    matrices, marks = _shapes(tmp_path)
    assert marks == matrices[:2]


def test_attention_of_as_many_heads(tmp_path: Path) -> None:
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default

    def model(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = kernel(query, key, key)[0]
        return result

    args = (torch.randn(2, 4, 3, 8), torch.randn(2, 4, 6, 8))
    onnxpert.export(model, args, tmp_path / "m.onnx", dynamic_shapes=_axes(*args))
    query, key = _shapes(tmp_path)
    assert [query[axis] == key[axis] for axis in range(4)] == [True, True, False, True]


def test_sizes_of_two_names_are_not_tried_apart(tmp_path: Path) -> None:
    def model(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return torch.segment_reduce(data, "sum", offsets=offsets, axis=1)

    args = (torch.randn(4, 5, 3), torch.tensor([[0, 2, 5]]).repeat(4, 1))
    dims = ({0: "rows"}, {0: "marked"})
    report = onnxpert.export(model, args, tmp_path / "m.onnx", dynamic_shapes=dims)
    (found,) = [each for each in report.findings if each.rule == "SHP207"]
    assert "takes it for granted" in str(found)
