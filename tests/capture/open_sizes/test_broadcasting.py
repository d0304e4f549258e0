"""Two sizes that vary, of which one is 1 in the example: either may be broadcast in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.lower.same import assert_same

R = torch.randn
P, Q = torch.export.Dim("p", max=64), torch.export.Dim("q", max=64)


def product(x: Tensor, y: Tensor) -> Any:
    return x * y + 1


def met_again(x: Tensor, y: Tensor) -> Any:
    z = x * y
    z = z + x - y
    return z.relu() + z.mean(0), torch.cat([z, z]), z.shape[0]


def chosen(x: Tensor, y: Tensor) -> Any:
    return torch.where(x > y, x, y), x.masked_fill(y > 0, 0.0)


@pytest.mark.parametrize("function", [product, met_again, chosen])
def test_the_longer_of_two(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    sizes = [(5, 5), (1, 1), (7, 1), (1, 6)]
    others = [(R(a, 4), R(b, 4)) for a, b in sizes if b <= a or function is not chosen]
    assert_same(function, R(3, 4), R(1, 4), dynamic=({0: P}, {0: Q}), others=others)


def test_of_one_length_in_the_example_they_are_one() -> None:
    result = assert_same(product, R(1, 4), R(1, 4), dynamic=({0: P}, {0: Q}))
    assert len(result.symbols) == 1


def test_what_is_written_keeps_its_size() -> None:
    def added(x: Tensor, y: Tensor) -> Tensor:
        x = x.clone()
        x += y
        return x

    others = [(R(6, 4), R(6, 4)), (R(2, 4), R(1, 4))]
    assert_same(added, R(3, 4), R(1, 4), dynamic=({0: P}, {0: Q}), others=others)


def test_a_mask_for_all_of_a_batch() -> None:
    def attention(x: Tensor, mask: Tensor) -> Tensor:
        return (x @ x.mT + mask).softmax(-1) @ x

    others = [(R(5, 2, 4), R(5, 2, 2)), (R(7, 5, 4), R(1, 5, 5))]
    shapes = ({0: P, 1: "s"}, {0: Q, 1: "s", 2: "s"})
    assert_same(attention, R(2, 3, 4), R(1, 3, 3), dynamic=shapes, others=others)
