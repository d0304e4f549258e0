"""How far what decides moves by itself: much behind a steep function, little elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import onnxpert
from onnxpert.verify.leeway import Leeway, Witness

EPS = torch.finfo(torch.float32).eps


class Scored(torch.nn.Module):
    """Scores behind a function that is `steep`, and those above a half of them in order."""

    def __init__(self, steep: float) -> None:
        super().__init__()
        self.steep = steep

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.sigmoid(self.steep * ((x + 1) - 1))
        return scores[scores > 0.5].sort().values


def _moved(steep: float) -> tuple[list[float], torch.Tensor, torch.Tensor]:
    x = torch.randn(200, generator=torch.Generator().manual_seed(0)) / steep
    model = Scored(steep)
    witness = Witness()
    with witness:
        plain = model(x)
    assert [[one.numel() for one in call] for call in witness.calls] == [[200], [plain.numel()]]
    leeway = Leeway(0, witness.calls)
    with leeway:
        shaken = model(x)
    return leeway.moved, plain, shaken


def test_a_steep_function_makes_roundings_larger() -> None:
    flat, steep = (_moved(each)[0][0] for each in (1.0, 1000.0))
    assert 0 < flat < 20 * EPS
    assert steep > 100 * EPS


def test_what_decides_is_put_back_so_that_both_runs_go_one_way() -> None:
    moved, plain, shaken = _moved(1000.0)
    assert plain.shape == shaken.shape
    assert moved[1] < 20 * EPS  # only what came after the first decision


class Ranked(torch.nn.Module):
    """Steep scores of long sums that nearly cancel, and the places of the best."""

    def __init__(self, *, turned: bool = False, take: int = 0, more: float = 0.0) -> None:
        super().__init__()
        self.turned, self.take, self.more = turned, take, more

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        half = x.shape[-1] // 2
        parts = [x[..., :half].sum(-1), x[..., half:].sum(-1), x[..., ::2].cumsum(-1)[..., -1]]
        total = parts[0] + parts[1] if not self.turned else parts[2] + x[..., 1::2].sum(-1)
        scores = torch.sigmoid(5 * total + self.more * x[..., 0])
        best = scores.topk(8).indices
        return (best + self.take) % x.shape[0], scores.sum()[None]


def _rows() -> torch.Tensor:
    """Rows in other orders, so that they have one sum and other roundings."""
    generator = torch.Generator().manual_seed(0)
    row = 30 * torch.randn(64, generator=generator)
    row -= row.mean()
    return torch.stack([row[torch.randperm(64, generator=generator)] for _ in range(40)])


@pytest.mark.parametrize(
    ("written", "rules"),
    [
        (Ranked(turned=True), []),
        (Ranked(turned=True, take=1), ["NUM701"]),
        (Ranked(turned=True, more=0.1), ["NUM701"]),
    ],
)
def test_a_file_of_another_order_of_sums_is_told_from_a_wrong_one(
    written: torch.nn.Module, rules: list[str], tmp_path: Path
) -> None:
    onnxpert.export(written.eval(), (_rows(),), tmp_path / "m.onnx")
    report = onnxpert.verify(tmp_path / "m.onnx", Ranked().eval(), (_rows(),))
    assert [each.rule for each in report.findings if each.blocks] == rules
