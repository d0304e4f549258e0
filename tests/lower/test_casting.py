"""Conversions of dtype."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool,
]  # fmt: skip


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_to_dtype(source: torch.dtype, target: torch.dtype) -> None:
    assert_same(lambda x: x.to(target), torch.tensor([0, 1, 2, 100]).to(source))


def test_fractions_and_wrap_around() -> None:
    assert_same(lambda x: (x.int(), x.bool(), x.long()), torch.tensor([-1.7, 1.7, 0.3, -0.0]))
    assert_same(
        lambda x: (x.byte(), x.char(), x.short(), x.int()), torch.tensor([-1, 300, 2**40 + 5])
    )


def test_spellings() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return (
            x.to(y), x.type_as(y), x.double(), x.half(), x.to("cpu"), x.to("cpu", torch.int32),
            x.to(dtype=torch.int64, copy=True), x.clone(), x.contiguous(), x.detach(), x.cpu(),
            x.float(memory_format=torch.contiguous_format),
            x.to("cpu", torch.float64, True, False, memory_format=torch.preserve_format),
            torch.ops.aten._to_copy(x, dtype=torch.float64), torch.ops.aten._cast_Float(y),
        )  # fmt: skip

    assert_same(function, torch.randn(2, 3), torch.tensor([1, 2]))


def test_nothing_to_do_is_nothing() -> None:
    result = assert_same(lambda x: x.float().contiguous().clone() + 1, torch.randn(3))
    assert [node.op_type for node in result.model.graph] == ["Add"]


def test_view_as_the_same_dtype() -> None:
    assert_same(lambda x: x.view(torch.float32) + 1, torch.randn(3))
    assert_same(lambda x: (x.real, x.conj()), torch.randn(3))
