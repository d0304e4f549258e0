"""What a tensor of one number all over decides is no question."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import onnxpert


class Padded(nn.Module):
    """A mask that is all ones unless one is given."""

    def __init__(self, asked: Any) -> None:
        super().__init__()
        self.asked = asked

    def forward(self, x: Any) -> Any:
        valid = torch.ones(x.shape[:2], dtype=torch.bool)
        if self.asked(valid):
            x = x.masked_fill(valid.unsqueeze(-1), 0.0)
        return x.cumsum(1)


def _written(valid: Any) -> Any:
    valid[:, 0] = False
    return valid.all()


_NEVER = {
    "any of none": lambda valid: (~valid).any(),
    "all": lambda valid: not valid.all(),
    "a comparison": lambda valid: (valid.long() * 2 - 1 != 1).any(),
    "a view": lambda valid: (valid[:, None].expand(-1, 3, -1).float() < 0.5).any(dim=-1).any(),
    "the largest": lambda valid: (1 - valid.int()).max() > 0,
    "chosen by another": lambda valid: torch.where(valid, 0.0, 2.0).amax() == 2,
}


@pytest.mark.parametrize("asked", _NEVER.values(), ids=_NEVER.keys())
def test_there_is_one_side(asked: Any) -> None:
    report = _report(asked)
    assert report.ok, str(report)
    assert "CTL409" not in str(report)


def test_a_tensor_that_was_written_to_is_not_one_number() -> None:
    report = _report(_written)
    assert report.ok, str(report)


def test_none_may_be_there() -> None:
    """Of no rows there is none that is valid: that is a question."""
    report = _report(lambda valid: valid.any())
    assert report.ok, str(report)
    assert "CTL409" in str(report)


def test_the_larger_of_two_is_no_reduction() -> None:
    class Larger(nn.Module):
        def forward(self, x: Any) -> Any:
            low = torch.zeros_like(x)
            return x + 1 if torch.max(low, low + 2).min() > 1 else x

    report = onnxpert.diagnose(Larger().eval(), (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    assert report.ok, str(report)
    assert "CTL409" not in str(report)


def _report(asked: Any) -> Any:
    torch.manual_seed(0)
    args = (torch.randn(2, 5, 4),)
    dims = ({0: "batch", 1: "length"},)
    return onnxpert.diagnose(Padded(asked).eval(), args, dynamic_shapes=dims)
