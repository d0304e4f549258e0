"""The answer of a watched call, for a proof to begin with."""

from __future__ import annotations

import random

import numpy
import torch

from onnxpert.capture.watching.answering import answered
from onnxpert.core.effort import Effort


def test_what_came_out_is_kept_whatever_becomes_of_it() -> None:
    x = torch.ones(2)
    found = answered(lambda: (x, 3), {torch.float32}, Effort())
    x.zero_()
    assert found is not None
    assert found.outputs[0].tolist() == [1, 1]
    assert found.outputs[1] == 3
    assert found.formats == {torch.float32}


def test_chance_has_no_hand_in_it() -> None:
    assert answered(lambda: (torch.rand(2),), set(), Effort()) is None
    assert answered(lambda: (random.random(),), set(), Effort()) is None
    assert answered(lambda: (float(numpy.random.rand()),), set(), Effort()) is None


def test_of_plain_tensors_only() -> None:
    assert answered(lambda: (torch.ones(2).to_sparse(),), set(), Effort()) is None
    assert answered(lambda: (torch.ones(2, device="meta"),), set(), Effort()) is None
