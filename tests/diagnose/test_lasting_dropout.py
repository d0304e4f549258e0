"""What is on in evaluation mode too is not cured by it, and is not said to be."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import onnxpert


class Fixed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.5, training=True) + x


class Attends(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1)


class Switches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        self.drop.train()
        return self.drop(x) + x


class ByMode(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.5, training=self.training) + x


CASES = (
    (Fixed, "STA311", "training=self.training"),
    (Attends, "STA311", "dropout_p=p if self.training"),
    (Switches, "STA311", "leave that out"),
    (ByMode, "STA303", "model.eval()"),
)


@pytest.mark.parametrize(("kind", "rule", "cure"), CASES, ids=str)
def test_the_help_cures(kind: type[nn.Module], rule: str, cure: str) -> None:
    report = onnxpert.diagnose(kind().train(), (torch.rand(1, 4, 3),))
    errors = [one for one in report.findings if one.severity is onnxpert.Severity.ERROR]
    assert [one.rule for one in errors] == [rule]
    assert cure in errors[0].help
