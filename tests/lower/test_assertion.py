"""Numbers read out of tensors, and checks that leave nothing behind."""

from __future__ import annotations

from typing import Any

import torch

from tests.lower.same import assert_same


def test_item_as_a_size() -> None:
    def function(n: torch.Tensor, x: torch.Tensor) -> Any:
        size = n.item()
        torch._check(size >= 0)
        torch._check(size <= 10)
        return torch.zeros(size, 2), torch.arange(size), x * size

    assert_same(
        function, torch.tensor(3), torch.randn(4), others=[[torch.tensor(7), torch.randn(4)]]
    )


def test_item_as_a_number() -> None:
    def function(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> Any:
        return x * a.item(), x + b.item() * 2, x > a.item()

    assert_same(
        function,
        torch.tensor([1.5]),
        torch.tensor(2, dtype=torch.int32),
        torch.randn(4),
        others=[[torch.tensor([-0.5]), torch.tensor(5, dtype=torch.int32), torch.randn(4)]],
    )


def test_item_of_a_truth_value() -> None:
    def function(flag: torch.Tensor, x: torch.Tensor) -> Any:
        return torch.full((2,), flag.item()), x + flag.item()

    assert_same(
        function,
        torch.tensor(True),
        torch.randn(4),
        others=[[torch.tensor(False), torch.randn(4)]],
    )


def test_checks_leave_nothing() -> None:
    def function(x: torch.Tensor) -> Any:
        torch._assert_async((x > -100).all())
        torch.ops.aten._assert_async.msg((x > -100).all(), "too small")
        return x + 1

    assert_same(function, torch.randn(3))
