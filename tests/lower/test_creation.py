"""Tensors made of numbers and sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3)
DTYPES = [None, torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES)
def test_like(dtype: torch.dtype | None) -> None:
    def function(x: torch.Tensor) -> Any:
        return (
            torch.zeros_like(x, dtype=dtype),
            torch.ones_like(x, dtype=dtype),
            torch.full_like(x, 1, dtype=dtype),
            x.new_zeros(x.shape[0], 2, dtype=dtype),
            x.new_ones((), dtype=dtype),
            x.new_full((x.shape[1],), 3, dtype=dtype),
        )

    assert_same(
        function, X, dynamic=({0: "a", 1: "b"},), others=[[torch.randn(1, 1)], [torch.randn(0, 4)]]
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_sizes(dtype: torch.dtype | None) -> None:
    def function(x: torch.Tensor) -> Any:
        rows = x.shape[0]
        return (
            torch.zeros(rows, 4, dtype=dtype),
            torch.ones(2, 3, dtype=dtype),
            torch.full((rows, rows + 1), 2.5, dtype=dtype),
            torch.full((2,), 7, dtype=dtype),
            torch.zeros((), dtype=dtype),
            torch.ones(0, 3, dtype=dtype),
        )

    assert_same(function, X, dynamic=({0: "a"},), others=[[torch.randn(1, 3)], [torch.randn(7, 3)]])


def test_contents_of_empty_tensors_do_not_matter() -> None:
    def function(x: torch.Tensor) -> Any:
        return (
            torch.empty(2, x.shape[0]),
            torch.empty_like(x),
            x.new_empty(3),
            x.new_empty(3).fill_(2),
        )

    assert_same(function, X, dynamic=({0: "a"},), others=[[torch.randn(5, 3)]], values=False)


def test_filling() -> None:
    aten = torch.ops.aten

    def function(x: torch.Tensor, value: torch.Tensor) -> Any:
        return aten.fill(x, 2), aten.fill.Tensor(x, value), aten.zero(x), aten.copy(x, value)

    assert_same(
        function,
        X,
        torch.tensor(4),
        dynamic=({0: "a"}, None),
        others=[[torch.randn(1, 3), torch.tensor(1)]],
    )


def test_in_place() -> None:
    def function(x: torch.Tensor) -> Any:
        y = torch.empty_like(x)
        y.fill_(3)
        z = x.clone().zero_()
        z[0] = 1
        return y + x, z

    assert_same(function, X)


def test_numbers() -> None:
    def function(x: torch.Tensor) -> Any:
        rows = x.shape[0]
        return (
            torch.scalar_tensor(rows, dtype=torch.int64),
            torch.scalar_tensor(2.5),
            torch.full((), rows),
            torch.tensor([1.0, 2.0]) + rows,
        )

    assert_same(function, X, dynamic=({0: "a"},), others=[[torch.randn(6, 3)]])


@pytest.mark.parametrize(
    "window",
    [
        torch.hann_window,
        torch.hamming_window,
        torch.blackman_window,
        torch.bartlett_window,
        torch.kaiser_window,
    ],
)
def test_windows(window: Any) -> None:
    assert_same(lambda x: x * window(6) + window(6, periodic=False), torch.randn(6))
