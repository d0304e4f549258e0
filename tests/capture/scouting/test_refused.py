"""An example that the model itself refuses hides nothing of what lies behind the line that raises."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import onnxpert


class Refuses(nn.Module):
    def __init__(self, step: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.step = step
        self.wide = nn.Linear(12, 4)
        self.table = nn.Parameter(torch.randn(5, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.step(self, x)
        spectrum = torch.linalg.eigvals(h[0, :4, :4])  # OPS501
        scale = float(numpy.unwrap(h.mean((0, 2)).numpy())[0])  # CTL402
        return functional.dropout(h, 0.1) * scale, spectrum  # STA311


STEPS: dict[str, tuple[str, Callable[..., Tensor]]] = {
    "weights": ("INP119", lambda model, x: model.wide(x)),
    "a table": ("INP119", lambda model, x: x[..., :4] + model.table),
    "a view": ("INP119", lambda _, x: x.view(x.shape[0], 5, 8)),
    "an index": ("INP118", lambda model, x: x[..., :4] + model.table[x.argmax(1)[:, :1] + 9]),
    "several lines": (
        "INP119",
        lambda model, x: (model.wide(x) + model.table).view(-1, 6, 4),
    ),
}


@pytest.mark.parametrize(("rule", "step"), STEPS.values(), ids=STEPS)
def test_what_lies_behind_is_told(rule: str, step: Callable[..., Tensor]) -> None:
    model = Refuses(step).eval()
    report = onnxpert.diagnose(model, (torch.randn(2, 6, 8),), dynamic_shapes=({0: "n"},))
    errors = {one.rule for one in report.findings if one.severity is onnxpert.Severity.ERROR}
    assert errors == {rule, "OPS501", "CTL402", "STA311"}


class Looks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)

    def forward(self, ids: Tensor) -> Tensor:
        rows = self.table(ids)  # INP118
        return torch.linalg.eigvals(rows)  # OPS501


def test_an_index_that_is_too_large_is_told_beside_an_operator_without_a_lowering() -> None:
    report = onnxpert.diagnose(Looks().eval(), (torch.tensor([0, 1, 2, 7]),))
    told = {one.rule: one.location.code for one in report.findings if one.location is not None}
    assert told["INP118"].endswith("# INP118")
    assert told["OPS501"].endswith("# OPS501")


class Scales(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales = {0: 1.0, 1: 0.5}
        self.out = nn.Linear(4, 3)

    def forward(self, x: Tensor, which: Tensor) -> Tensor:
        return self.out(x) * self.scales[which.item()]


def test_a_branch_is_no_obstacle_beside_an_example_that_is_refused() -> None:
    report = onnxpert.diagnose(Scales().eval(), (torch.ones(1, 5), torch.tensor(1)))
    errors = [one.rule for one in report.findings if one.severity is onnxpert.Severity.ERROR]
    assert errors == ["INP119"]
