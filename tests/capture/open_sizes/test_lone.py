"""Numbers that a model computes from sizes with tensors are sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.capture.open_sizes.models import Calls, assert_same

BOTH = ({0: "rows", 1: "columns"},)


class Reflected(nn.Module):
    """Adds what is too short to be reflected, as a tensor says."""

    left: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("left", torch.tensor(6), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        missing: Any = 0
        most: Any = max(self.left, self.left // 2)
        if x.shape[-1] <= most:
            missing = most - x.shape[-1] + 1
            x = nn.functional.pad(x, (0, missing))
        padded = nn.functional.pad(x, (int(self.left), 0), "reflect")
        return padded[..., : padded.shape[-1] - missing]


RECKONED: dict[str, Callable[[torch.Tensor], Any]] = {
    "rounded up": lambda x: x[:, : torch.ceil(torch.tensor(x.shape[1]) / 3).long()],
    "rounded down": lambda x: x[:, : torch.floor(torch.tensor(x.shape[1]) / 3).long()],
    "floor division": lambda x: x[:, : (torch.tensor(x.shape[1]) + 1) // 2],
    "cut off": lambda x: x[:, : torch.div(torch.tensor(x.shape[1]), 2, rounding_mode="trunc")],
    "turned round": lambda x: x[:, : -(2 - torch.tensor(x.shape[1])) + 1],
}


@pytest.mark.parametrize("reckon", RECKONED.values(), ids=RECKONED)
def test_a_part_as_long_as_is_reckoned(reckon: Callable[..., Any], tmp_path: Path) -> None:
    sizes = [(3, 9), (1, 10), (2, 23)]
    report = assert_same(Calls(reckon), (2, 8), sizes, BOTH, tmp_path / "m.onnx")
    assert "SHP212" not in [found.rule for found in report.findings]


def test_a_comparison_is_a_question_about_sizes(tmp_path: Path) -> None:
    sizes = [(3, 2), (1, 6), (2, 7), (2, 30)]
    report = assert_same(Reflected(), (2, 12), sizes, BOTH, tmp_path / "m.onnx")
    said = [found for found in report.findings if found.rule.startswith("CTL")]
    assert not [found for found in said if "size" not in found.message], str(report)
