"""Several example inputs: what differs between them varies, and each of them is proven."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch

import onnxpert


class Scores(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (x * mask.unsqueeze(-1)).sum(1)


def inputs(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, length, 4), torch.ones(batch, length)


def dims(path: Path) -> list[list[int | str]]:
    return [
        [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in onnx.load(path).graph.input
    ]


def test_what_differs_is_dynamic_and_what_does_not_is_not(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    x, mask = inputs(2, 9)
    report = onnxpert.export(
        Scores(), inputs(2, 5), path, examples=[inputs(2, 7), ((x,), {"mask": mask})]
    )
    assert dims(path) == [[2, "sequence", 4], [2, "sequence"]]
    cases = {row.case: row for row in report.verified}
    assert cases["example 2"].sizes == {"sequence": 7}
    assert cases["example 3"].sizes == {"sequence": 9}
    assert all(str(cases[name].verdict) == "pass" for name in ("example", "example 2", "example 3"))


def test_the_first_of_them_will_do_as_the_example(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(Scores(), f=path, examples=[inputs(1, 5), inputs(3, 5)])
    assert dims(path) == [["batch", 5, 4], ["batch", 5]]


def test_names_of_the_users_win(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    shapes = {"x": {1: "time"}, "mask": {1: "time"}}
    onnxpert.export(Scores(), inputs(2, 5), path, examples=[inputs(3, 6)], dynamic_shapes=shapes)
    assert dims(path) == [["batch", "time", 4], ["batch", "time"]]


def test_a_number_that_differs_is_an_input(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    x = torch.randn(3)
    onnxpert.export(lambda x, n: x * n, (x, 2), path, examples=[(x, 5)])
    assert [value.name for value in onnx.load(path).graph.input] == ["x", "n"]


def test_an_example_that_the_file_gets_wrong_is_told() -> None:
    class Counts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if torch.compiler.is_exporting() else x * (3 if bool(x[0] > 9) else 2)

    first, other = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 2.0])
    report = onnxpert.diagnose(Counts(), (first,), examples=[(other,)])
    assert not report.ok
    assert any(row.case == "example 2" and str(row.verdict) == "fail" for row in report.verified)


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ((torch.randn(2, 5, 4).double(), torch.ones(2, 5)), "`x` is float32[2, 5, 4]"),
        ((torch.randn(5, 4), torch.ones(2, 5)), "example 2"),
        ((torch.randn(2, 5, 4),), "example 2"),
        ((torch.randn(2, 5, 4), None), "example 2"),
    ],
)
def test_an_example_of_another_kind_is_a_finding(
    example: tuple[torch.Tensor, ...], said: str
) -> None:
    report = onnxpert.diagnose(Scores(), inputs(2, 5), examples=[example])
    assert any(f.rule.startswith("INP1") and said in f.message for f in report.findings)
