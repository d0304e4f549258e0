"""Whose functions are compiled once more."""

from __future__ import annotations

from types import CodeType
from typing import Any

import pytest
from torch import Tensor, nn

from onnxpert.capture import identities


class Doubled(nn.Module):
    def forward(self, x: Tensor, twice: bool) -> Tensor:
        return x * 2 if (twice is True) else x


def test_what_a_file_imports_of_torchs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Tensor` is among the names of this file, and to find the source of its methods takes long."""
    seen: list[str] = []

    def recompiled(code: CodeType, _: Any) -> None:
        seen.append(code.co_qualname)

    monkeypatch.setattr(identities, "recompiled", recompiled)
    identities._new_code.cache_clear()
    with identities.own_identities(Doubled()):
        pass
    identities._new_code.cache_clear()
    assert "Doubled.forward" in seen
    assert not any(name.startswith("Tensor.") for name in seen)
