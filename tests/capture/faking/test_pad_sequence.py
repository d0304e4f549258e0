"""`pad_sequence` of pieces whose lengths the data decide, beside what no file has."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert


class Lengthens(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        pieces = [one.repeat_interleave(each, 0) for one, each in zip(x, lengths, strict=True)]
        return nn.utils.rnn.pad_sequence(pieces, batch_first=True, padding_value=-1.0)


class Kinds(Lengthens):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        seen = {int(lengths[0, 0])}  # number
        return super().forward(x, lengths) * len(seen)


ARGS = torch.randn(2, 3, 4), torch.tensor([[1, 2, 1], [3, 1, 2]])


def test_it_is_exported_at_every_size() -> None:
    shapes = ({1: "n", 2: "width"}, {1: "n"})
    assert onnxpert.diagnose(Lengthens().eval(), ARGS, dynamic_shapes=shapes).ok


def test_it_is_no_obstacle_beside_one() -> None:
    report = onnxpert.diagnose(Kinds().eval(), ARGS)
    errors = [f for f in report.findings if f.blocks]
    assert [(f.rule, f.location and f.location.code[-8:]) for f in errors] == [
        ("CTL405", "# number")
    ]
