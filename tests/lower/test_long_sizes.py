"""What is known of a size that went through much is not worked out, and the file is right all the same."""

from __future__ import annotations

import pytest
import torch

from onnxpert.capture.recorder import new_fake_mode
from onnxpert.lower import symbols
from onnxpert.lower.symbols import may_be_negative


def test_a_long_size_may_be_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(symbols, "statically_known_true", asked.append)
    counted = new_fake_mode().shape_env.create_unbacked_symint()
    assert may_be_negative(counted - 3)
    assert len(asked) == 1
    for _ in range(4):  # as a slice of a slice has it, whose places may be negative
        counted = torch.sym_max(torch.sym_min(counted, 7) - counted // 2, -counted)
    assert may_be_negative(counted)
    assert len(asked) == 1
