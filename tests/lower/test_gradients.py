"""Models that differentiate inside of their forward."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from tests.lower.same import assert_same


def _random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(2))


IMAGE, ROWS, HEADS = _random(2, 2, 7, 8), _random(5, 3), _random(2, 2, 5, 4)
KERNEL, WIDE = _random(3, 2, 3, 3), _random(4, 1, 3, 3)
MASK = torch.tensor([[True, True, False, True, True]])

LAYERS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]] = {
    "convolution": (lambda x: functional.conv2d(x, KERNEL) ** 2, IMAGE),
    "with steps": (lambda x: functional.conv2d(x, KERNEL, None, 2, 1) ** 2, IMAGE),
    "that leaves a rest": (lambda x: functional.conv2d(x, KERNEL, None, 3, 0, 2) ** 2, IMAGE),
    "in groups": (lambda x: functional.conv2d(x, WIDE, None, 1, 1, 1, 2) ** 2, IMAGE),
    "transposed": (
        lambda x: functional.conv_transpose2d(x, KERNEL.transpose(0, 1), None, 2, 1) ** 2,
        IMAGE,
    ),
    "average": (lambda x: functional.avg_pool2d(x, 2, 2, 1) ** 2, IMAGE),
    "average over a rest": (lambda x: functional.avg_pool2d(x, 3) ** 2, IMAGE),
    "adaptive": (lambda x: functional.adaptive_avg_pool2d(x, (3, 5)) ** 2, IMAGE),
    "attention": (lambda x: functional.scaled_dot_product_attention(x, x, x * 2), HEADS),
    "causal": (
        lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.3),
        HEADS,
    ),
    "masked": (lambda x: functional.scaled_dot_product_attention(x, x, x, MASK), HEADS),
}
for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
    LAYERS[f"distance {p}"] = (lambda x, p=p: torch.cdist(x, x[1:] + 0.3, p=p) ** 2, ROWS)  # type: ignore[misc]


@pytest.mark.parametrize("name", LAYERS)
def test_gradients(name: str) -> None:
    layer, given = LAYERS[name]
    assert_same(torch.func.grad(lambda x: layer(x).sum()), given)


@pytest.mark.parametrize("name", ["with steps", "that leaves a rest", "average", "distance 2.0"])
def test_gradients_at_other_sizes(name: str) -> None:
    layer, given = LAYERS[name]
    assert_same(torch.func.grad(lambda x: layer(x).sum()), given, dynamic="auto")


def test_rows_that_coincide_pull_nowhere() -> None:
    assert_same(torch.func.grad(lambda x: torch.cdist(x, x.detach()).sum()), ROWS)


def _energy(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x @ x.roll(1)) + (x**3).sum()


@pytest.mark.parametrize("twice", [torch.func.hessian, torch.func.jacfwd])
def test_derivatives_of_each_row(twice: Callable[..., Callable[..., torch.Tensor]]) -> None:
    """Forward derivatives of what does not depend on the input are zeros without memory."""
    rows = [(_random(count, 3),) for count in (1, 4)]
    each = torch.func.vmap(twice(_energy))
    assert_same(each, _random(2, 3), dynamic=({0: "rows"},), others=rows)
