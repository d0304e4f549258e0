"""Distributions: alike when they are, and told apart when they are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onnxpert.verify.distribution import likeness

Sampler = Callable[[np.random.Generator], Any]


def _alike(one: Sampler, other: Sampler) -> bool:
    a, b = np.random.default_rng(1), np.random.default_rng(2)
    (found,) = likeness(lambda _: [one(a)], lambda _: [other(b)])
    return found.same


SAMPLERS: dict[str, Sampler] = {
    "normal": lambda g: g.normal(size=(4, 5)),
    "cauchy": lambda g: g.standard_cauchy(size=20),
    "one bit": lambda g: g.integers(0, 2, size=()),
    "permutation": lambda g: g.permutation(9),
    "some number of them": lambda g: g.normal(size=g.integers(0, 6)),
    "with nan": lambda g: np.where(g.random(8) < 0.3, np.nan, 1.0),
    "complex": lambda g: g.normal(size=3) + 1j * g.normal(size=3),
    "nothing": lambda g: np.zeros((0, 3)),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_distribution_is_alike(name: str) -> None:
    assert _alike(SAMPLERS[name], SAMPLERS[name])


DIFFERENT: dict[str, tuple[Sampler, Sampler]] = {
    "mean": (SAMPLERS["normal"], lambda g: g.normal(size=(4, 5)) + 0.3),
    "deviation": (SAMPLERS["normal"], lambda g: 1.3 * g.normal(size=(4, 5))),
    "kind": (lambda g: g.normal(size=9), lambda g: g.uniform(-1.7, 1.7, size=9)),
    "always the same": (SAMPLERS["normal"], lambda g: np.full((4, 5), 0.1)),
    "one number at every place": (SAMPLERS["normal"], lambda g: np.full((4, 5), g.normal())),
    "chance": (lambda g: g.random() < 0.5, lambda g: g.random() < 0.75),
    "order": (SAMPLERS["permutation"], lambda g: np.arange(9)),
    "count": (SAMPLERS["some number of them"], lambda g: g.normal(size=3)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_distribution_is_told(name: str) -> None:
    assert not _alike(*DIFFERENT[name])


def test_what_is_next_to_nothing_counts_as_zero() -> None:
    assert _alike(lambda g: g.random(3) * [1, 1, 1e-41], lambda g: g.random(3) * [1, 1, 0])
    assert not _alike(lambda g: g.random(3) * [1, 1, 1e-3], lambda g: g.random(3) * [1, 1, 0])
