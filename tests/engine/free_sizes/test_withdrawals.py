"""What varies if it can: a dimension on offer is dynamic, narrowed, tied or fixed, never an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch.export import Dim

import onnxpert


def exported(
    model: Callable[..., Any], args: tuple[torch.Tensor, ...], path: Path, hint: Any = Dim.AUTO
) -> onnxpert.Report:
    shapes = tuple(dict.fromkeys(range(arg.dim()), hint) for arg in args)
    return onnxpert.export(model, args, path, dynamic_shapes=shapes)


def dims(path: Path) -> list[list[int | str]]:
    return [
        [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in onnx.load(path).graph.input
    ]


def test_a_partner_of_size_one_stays_one_and_all_else_varies(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = exported(lambda x, y: x * y, (torch.randn(5, 1, 3), torch.randn(5, 4, 3)), path)
    assert dims(path) == [["batch", 1, "x_dim_2"], ["batch", "sequence", "x_dim_2"]]
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("SHP205", onnxpert.Severity.INFO)
    assert finding.message == "axis 1 of x keeps its size 1"


def test_one_channel_keeps_no_batch_of_one_from_varying(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    exported(torch.nn.Conv1d(1, 2, 3).eval(), (torch.randn(1, 1, 9),), path)
    ((batch, channels, _),) = dims(path)
    assert isinstance(batch, str)
    assert channels == 1


def test_a_firm_wish_stays_firm(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    args = (torch.randn(5, 1), torch.randn(5, 4))
    shapes = ({1: Dim.DYNAMIC}, {1: Dim.DYNAMIC})
    onnxpert.export(lambda x, y: x * y, args, path, dynamic_shapes=shapes)
    (_, one), (_, other) = dims(path)
    assert isinstance(one, str)
    assert isinstance(other, str)
    assert one != other  # either may be 1 while the other is not
    session = onnxruntime.InferenceSession(path)
    for columns in ((1, 4), (4, 1), (1, 7), (3, 3), (1, 1)):
        x, y = (torch.randn(5, count) for count in columns)
        (found,) = session.run(None, {"x": x.numpy(), "y": y.numpy()})
        np.testing.assert_allclose(found, (x * y).numpy(), rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (2, 0, 1)])
def test_an_empty_example(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "m.onnx"
    assert exported(lambda x: x.abs() + 1, (torch.randn(shape),), path).ok
    assert exported(lambda x: x.sum(-1), (torch.randn(shape),), path).ok
    assert exported(lambda x: x.var(), (torch.randn(shape),), path).ok


def test_a_size_that_vanishes_when_it_is_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    exported(lambda x: x.squeeze(), (torch.randn(5, 1, 3),), path)
    (got,) = dims(path)
    assert got[1] == 1
    assert isinstance(got[0], str)


def test_a_dimension_that_the_file_cannot_follow_to_one_starts_at_two(tmp_path: Path) -> None:
    class Spreads(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            if torch.compiler.is_exporting():
                return x + y * (x.shape[0] - 1) / (x.shape[0] - 1)
            return x + y

    path = tmp_path / "m.onnx"
    report = exported(Spreads(), (torch.randn(4, 3), torch.randn(3)), path)
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert metadata["onnxpert.dim.batch"] == "2.."
    assert "SHP205" in [finding.rule for finding in report.findings]


def test_a_table_of_one_size_fixes_the_dimension_that_is_on_offer(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    weight = torch.randn(4, 7)
    exported(lambda x: x @ weight, (torch.randn(3, 4),), path)
    assert dims(path) == [["batch", 4]]


def test_the_number_of_pivots_follows_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    data, pivots = torch.linalg.lu_factor(torch.randn(2, 4, 4))
    report = exported(lambda lu, p: torch.lu_unpack(lu, p)[0], (data, pivots), path)
    assert report.ok
    first, second = dims(path)
    assert second == first[:2]


def test_a_split_into_so_many_parts_has_a_range(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = exported(lambda x: x.chunk(2), (torch.randn(5, 3),), path)
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert metadata["onnxpert.dim.batch"] == "2.."
    assert [f.severity for f in report.findings if f.blocks] == []


def test_a_narrowing_that_does_not_help_ends_in_a_fixed_size(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    assert exported(lambda x: x.chunk(5, 1), (torch.randn(3, 5),), path).ok
    assert dims(path) == [["batch", 5]]


def test_a_loop_of_ones_own_keeps_the_dimension_that_is_on_offer(tmp_path: Path) -> None:
    class Pieces(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pieces = [piece * i for i, piece in enumerate(x.split(3, 1))]
            return torch.cat(pieces, 1) * (round(len(x) / 2) + 1)

    path = tmp_path / "m.onnx"
    exported(Pieces(), (torch.randn(4, 5, 3),), path)
    session = onnxruntime.InferenceSession(path)
    for batch, length in ((1, 1), (2, 3), (5, 13)):
        x = torch.randn(batch, length, 3)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.tensor(got), Pieces()(x))


def test_an_offered_size_that_can_be_one_size_only_is_fixed(tmp_path: Path) -> None:
    class Cut(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x.view(2, 10), y * 2

    path = tmp_path / "m.onnx"
    given = (torch.randn(4, 5), torch.randn(4, 5))
    report = onnxpert.export(Cut(), given, path, dynamic_shapes="auto")
    one, other = (each.shape for each in onnxruntime.InferenceSession(path).get_inputs())
    assert one == [4, 5]
    assert other == ["batch", "sequence"]
    told = {finding.rule: finding for finding in report.findings}
    assert told.keys() == {"SHP201", "SHP205"}
    assert "x.view(2, 10)" in told["SHP205"].location.code


def test_how_many_parts_a_split_has_is_on_offer(tmp_path: Path) -> None:
    class Parts(torch.nn.Module):
        def forward(self, x: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
            return torch.stack([part.sum(0) for part in x.split(sizes.tolist())])

    path = tmp_path / "m.onnx"
    given = (torch.randn(6, 3), torch.tensor([1, 2, 3]))
    onnxpert.export(Parts(), given, path, dynamic_shapes="auto")
    session = onnxruntime.InferenceSession(path)
    for sizes in ([6], [2, 2], [0, 3, 1, 2]):
        x, parts = torch.randn(sum(sizes), 3), torch.tensor(sizes)
        (got,) = session.run(None, {"x": x.numpy(), "sizes": parts.numpy()})
        torch.testing.assert_close(torch.tensor(got), Parts()(x, parts))


def test_a_range_of_next_to_nothing_is_a_fixed_size(tmp_path: Path) -> None:
    class Differs(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.diff(x, n=x.shape[0] // 2, dim=1)

    path = tmp_path / "m.onnx"
    report = exported(Differs(), (torch.randn(6, 8),), path)
    assert report.ok
    assert dims(path)[0][0] == 6
