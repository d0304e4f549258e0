"""Attention in a model that is written down, whose causality a size decides as libraries ask for it."""

from __future__ import annotations

import pytest
import torch

import onnxpert


class Experts(torch.nn.Module):
    """The loop is one that only its lines tell; the flag is Python's `and` of a size and of what is there."""

    def __init__(self, masked: bool) -> None:
        super().__init__()
        self.masked = masked

    def forward(self, x: torch.Tensor, hit: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu() if self.masked else None
        causal = length > 1 and mask is None and True
        seen = torch.nn.functional.scaled_dot_product_attention(
            x, x, x, attn_mask=mask, is_causal=causal
        )
        out = torch.zeros_like(seen)
        for place in hit.nonzero():
            expert = int(place.item())
            rows = (x[0, :, 0] > expert).nonzero().squeeze(-1)
            if rows.numel() == 0:
                continue
            out.index_add_(1, rows, seen[:, rows] * expert)
        return out + seen


@pytest.mark.parametrize("masked", [True, False])
def test_attention_is_causal_where_a_size_says_so(masked: bool) -> None:
    example = (torch.randn(2, 6, 4), torch.tensor([1, 0, 1]))
    report = onnxpert.diagnose(Experts(masked), example, dynamic_shapes=({1: "n"}, {0: "m"}))
    assert report.ok, report
    assert {row.case for row in report.verified} >= {"n=1", "n=7"}
