"""Attention with a score function of the user's own, and with a block mask."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tests.lower.same import assert_same

SLOPES = torch.tensor([0.5, -0.25])


def _given(length: int, heads: int = 2) -> list[torch.Tensor]:
    return [
        torch.randn(1, heads, length, 4),
        torch.randn(1, 2, length, 4),
        torch.randn(1, 2, length, 4),
    ]


def test_a_score_function() -> None:
    def attend(q: Any, k: Any, v: Any) -> Any:
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * SLOPES[h])

    dynamic = tuple({2: torch.export.Dim("length")} for _ in range(3))
    assert_same(attend, *_given(8), dynamic=dynamic, others=[_given(5)])


def test_a_block_mask_and_shared_heads() -> None:
    def attend(q: Any, k: Any, v: Any) -> Any:
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 8, 8, device="cpu")
        return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)

    assert_same(attend, *_given(8, heads=4))
