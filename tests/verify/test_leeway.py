"""How far what decides moves by itself: much behind a steep function, little elsewhere."""

from __future__ import annotations

import torch

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
