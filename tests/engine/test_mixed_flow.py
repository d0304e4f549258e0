"""Flow of several makes in one model, and what is said where a file cannot have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

import onnxpert
from tests.engine.models import Model

ROWS = torch.export.Dim("rows", max=64)


def exported(model: nn.Module, path: Path, rows: int = 4) -> Any:
    return onnxpert.export(model, (torch.randn(rows, 4),), path, dynamic_shapes=({0: ROWS},))


def assert_same(model: nn.Module, path: Path, inputs: Sequence[Tensor]) -> None:
    session = onnxruntime.InferenceSession(path)
    for x in inputs:
        expected = model(x.clone())
        expected = expected if isinstance(expected, tuple) else (expected,)
        for want, got in zip(expected, session.run(None, {"x": x.numpy()}), strict=True):
            torch.testing.assert_close(
                torch.tensor(got).to(torch.as_tensor(want)), torch.as_tensor(want)
            )


class Beside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = torch.cond(x.sum() > 0, self.a, lambda z: self.b(z).relu(), (x,))
        if y.norm() > 2:
            y = self.a(y)
        return y


def named_in_the_test(x: Tensor) -> Any:
    count = 0
    while (most := x.abs().max()) > 1.5:
        x = x / most.sqrt()
        count += 1
    return x if count else -x


def named_after_an_and(x: Tensor) -> Any:
    total, kept = torch.zeros(()), [mean * 2 for row in x if (mean := row.mean()) > 0]
    for row in x:
        if row[0] > 0 and (mean := row.mean()) > -0.5 and (twice := mean * 2) < 3:
            total = total + twice
        elif row[1] > 1 or (least := row.min()) < -1:
            total = total - 1
        else:
            total = total * least
    return total, torch.stack(kept).sum() if kept else total


def numbers_of_sizes(x: Tensor) -> Any:
    n = x.shape[0]
    most = float(x.max())
    return x * (n << 1) + (n >> 1), x * (n & 3) - (n ^ 2), round(most, 2), most % 1


def thresholds(x: Tensor) -> Tensor:
    n = x.shape[0]
    if n > 6:
        x = x + 1 if n > 10 else x + 2
    elif n > 2:
        x = x * 3
    if n > 7 or n == 1:
        x = x - x.sum()
    return x


INPUTS = [torch.linspace(-2, 3, rows * 4).reshape(rows, 4) for rows in (1, 2, 3, 5, 7, 8, 13)]


@pytest.mark.parametrize(
    "function", [named_in_the_test, named_after_an_and, numbers_of_sizes, thresholds]
)
def test_flow_as_people_write_it(function: Callable[[Tensor], Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    path = tmp_path / "m.onnx"
    report = exported(Model(function), path)
    assert_same(Model(function), path, [*INPUTS, *(-x for x in INPUTS)])
    assert "CTL409" not in {found.rule for found in report.findings}


def test_cond_beside_a_branch_of_python(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Beside().eval()
    exported(model, tmp_path / "m.onnx")
    with torch.no_grad():  # the proof ran the model under modes; it runs as before all the same
        assert_same(model, tmp_path / "m.onnx", [*INPUTS, *(-x for x in INPUTS)])


def test_a_branch_on_a_remainder_bounds_nothing(tmp_path: Path) -> None:
    def forward(x: Tensor) -> Tensor:
        return x.sum(0) if x.shape[0] % 2 == 0 else x.mean(0)

    report = exported(Model(forward), tmp_path / "m.onnx")
    (prop,) = onnx.load(tmp_path / "m.onnx").metadata_props
    assert prop.value.startswith("1..")
    assert "SHP203" not in {found.rule for found in report.findings}


def test_sides_with_other_dimensions_are_named(tmp_path: Path) -> None:
    def forward(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x.sum(1)
        return x

    with pytest.raises(onnxpert.ExportError) as raised:
        exported(Model(forward), tmp_path / "m.onnx")
    (found,) = [each for each in raised.value.report.findings if each.rule == "CTL401"]
    assert "1 dimension" in found.message
    assert "2 dimension" in found.message


def test_a_function_that_calls_itself_by_sizes(tmp_path: Path) -> None:
    def halves(v: Tensor) -> Tensor:
        n = v.shape[0]
        if n == 1:
            return v[0]
        return torch.maximum(halves(v[: n // 2]), halves(v[n // 2 :]) * 0.5)

    with pytest.raises(onnxpert.ExportError) as raised:
        exported(Model(halves), tmp_path / "m.onnx", rows=6)
    found = {each.rule: each for each in raised.value.report.findings}
    assert found["SHP202"].location.function == "halves"


def test_memory_moved_beneath_a_tensor(tmp_path: Path) -> None:
    def forward(x: Tensor) -> Any:
        y = torch.empty(0)
        y.resize_(x.shape[0], 2).copy_(x[:, :2])
        y.squeeze_(0).unsqueeze_(0)
        return y, x.clone().set_(y)

    with pytest.raises(onnxpert.ExportError) as raised:
        exported(Model(forward), tmp_path / "m.onnx")
    assert {each.rule for each in raised.value.report.findings} >= {"OPS501"}


class Scanned(nn.Module):
    def forward(self, x: Tensor) -> Any:
        def step(carried: dict[str, Tensor], row: dict[str, Tensor]) -> Any:
            held = torch.tanh(carried["held"] + row["x"])
            return {"held": held}, held * 2

        last, rows = scan(step, {"held": torch.zeros(4)}, {"x": x}, dim=0, reverse=True)
        return last["held"], rows


def test_a_scan_of_dictionaries_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    shapes = ({0: torch.export.Dim("rows", max=64)},)
    assert onnxpert.export(Scanned(), (torch.randn(4, 4),), path, dynamic_shapes=shapes).verified


class TakenApart(nn.Module):
    """An operator that torch takes apart, behind a loop and numbers that a capture left open."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        total = torch.zeros(4)
        for row in range(x.shape[0]):
            total = total + x[row]
        if torch.masked_select(x, x > 0).numel() > 3:
            total = total.clamp(-5, 5)
        return total, torch.quantile(total, 0.5, interpolation="nearest")


def test_an_operator_is_taken_apart_behind_what_a_capture_left_open(tmp_path: Path) -> None:
    path = tmp_path / "apart.onnx"
    assert exported(TakenApart(), path).ok
    assert_same(TakenApart(), path, [torch.randn(4, 4), torch.ones(7, 4)])
