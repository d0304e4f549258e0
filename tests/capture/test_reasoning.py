"""Questions about sizes take no longer than they are worth, and are kept as assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import sympy
import torch
from torch import nn
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.functions import FloorDiv

import onnxpert
from onnxpert.capture.reasoning import (
    BUDGET_TERMS,
    Frugal,
    frugally,
    is_heavy,
    is_long,
    quotients_as_they_are,
)
from onnxpert.capture.recorder import new_fake_mode
from tests.lower.same import assert_same


class Windows(nn.Module):
    """As Swin cuts and mends its images, twice, with a coarser grid in between."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(8, 8)

    def cut(self, x: torch.Tensor) -> torch.Tensor:
        b, h, w, c = x.shape
        x = nn.functional.pad(x, (0, 0, 0, (2 - w % 2) % 2, 0, (2 - h % 2) % 2))
        high, wide = x.shape[1], x.shape[2]
        cells = x.view(b, high // 2, 2, wide // 2, 2, c).transpose(2, 3).contiguous()
        cells = self.mix(cells.view(-1, 4, c))
        grid = cells.view(-1, high // 2, wide // 2, 2, 2, c).transpose(2, 3).contiguous()
        return grid.view(-1, high, wide, c)[:, :h, :w]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.cut(x)
        return self.cut(x[:, ::2, ::2])


def test_windows_at_any_size(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, model = tmp_path / "m.onnx", Windows().eval()
    shapes = ({0: "b", 1: "h", 2: "w"},)
    onnxpert.export(model, (torch.randn(2, 8, 12, 8),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for shape in ((1, 4, 4, 8), (3, 9, 6, 8), (2, 7, 7, 8)):
        x = torch.randn(shape)
        (got,) = session.run(None, {"x": x.numpy()})
        with torch.no_grad():
            np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-3, atol=1e-4)


def test_a_heavy_question_is_answered_by_the_example_and_kept() -> None:
    mode = new_fake_mode()
    x = mode.from_tensor(torch.ones(8, 12))
    h, w = x.shape
    assert bool(((h // 2) % 3 + (w // 4) % 5) * h > 2)
    environment = mode.shape_env
    assert isinstance(environment, Frugal)
    (guard,) = environment.guards
    assert is_heavy(guard.expr)


def test_two_sizes_with_as_much_more_to_each_are_one() -> None:
    mode = new_fake_mode()
    n, m = mode.from_tensor(torch.ones(16, 16)).shape
    assert bool(n + n // 8 == m + n // 8)
    assert mode.shape_env.replace(n.node.expr - m.node.expr) == 0


@pytest.mark.parametrize("hurried", [False, True])
def test_an_easy_question_is_proven_while_few_were(hurried: bool) -> None:
    mode = new_fake_mode()
    assert isinstance(mode.shape_env, Frugal)
    mode.shape_env.spent_terms = BUDGET_TERMS + 1 if hurried else 0
    (n,) = mode.from_tensor(torch.ones(8)).shape
    assert bool(n > 1)
    assert bool(mode.shape_env.guards) is hurried
    assert mode.shape_env.spent_terms - (BUDGET_TERMS + 1) * hurried == (0 if hurried else 3)


class Read(list[Any]):
    """Counts what is read of it."""

    count = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.count += len(found) if isinstance(at, slice) else 1
        return found

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.count += 1
            yield each


def test_what_is_assumed_again_and_again_is_not_looked_for_among_all_that_is() -> None:
    environment = Frugal()
    environment.guards = read = Read()
    n = sympy.Symbol("n", integer=True, positive=True)
    conditions = [n > number for number in range(2, 102)]
    for condition in (*conditions, *conditions):
        environment.assume(condition)
    assert len(environment.guards) == len(conditions)
    assert read.count < 5 * 2 * len(conditions)
    environment.guards[:] = environment.guards[:50]
    environment.assume(conditions[80])
    assert [guard.expr for guard in environment.guards] == [*conditions[:50], conditions[80]]


def test_other_environments_are_as_they_were_afterwards() -> None:
    before = ShapeEnv.evaluate_expr
    with frugally():
        assert ShapeEnv.evaluate_expr is not before
        assert ShapeEnv().evaluate_expr(sympy.true) is sympy.true
    assert ShapeEnv.evaluate_expr is before


def test_a_long_quotient_is_shortened_and_keeps_its_value() -> None:
    plain = sympy.simplify
    a, b = sympy.symbols("a b", integer=True, positive=True)
    total = sympy.Add(*(FloorDiv(a + turn, b + turn + 1) for turn in range(30)))
    assert is_long(total)
    with quotients_as_they_are():
        found = FloorDiv(sympy.expand(6 * total), 4 * b)
    assert sympy.simplify is plain
    assert found == FloorDiv(sympy.expand(3 * total), 2 * b)
    for sizes in ({a: 40, b: 3}, {a: 7, b: 2}):
        assert found.subs(sizes) == total.subs(sizes) * 6 // (4 * sizes[b])


@pytest.mark.parametrize("times", [9, sympy.Rational(9, 2)])
def test_a_sum_that_is_another_several_times_over_is_divided_at_once(times: sympy.Rational) -> None:
    """The anchors of a pyramid's levels by their places: sympy looks for what both have in common."""
    plain = FloorDiv.eval
    a, b = sympy.symbols("a b", integer=True, positive=True)
    sides = [(FloorDiv(a - 1, 2**turn) + 1, FloorDiv(b - 1, 2**turn) + 1) for turn in range(3, 8)]
    places = sympy.Add(*(2 * one * other for one, other in sides))
    assert is_long(places)
    with quotients_as_they_are():
        assert FloorDiv(sympy.Add(*(times * term for term in places.args)), places) == times // 1
        left = FloorDiv(sympy.Add(*places.args[:3]) + 1, places)
    assert FloorDiv.eval == plain
    assert left.func is FloorDiv


def test_what_is_one_in_the_example_is_not_one_for_all_sizes() -> None:
    """torch asks whether a size is 1 in a way that it can do without the answer; the example's would
    have to be assumed, and elsewhere nobody may rely on it."""

    def blocks(x: torch.Tensor) -> torch.Tensor:
        number = math.ceil(math.ceil(x.shape[0] / 3) / 3)
        return (torch.ones(number, 2) * 2).repeat(min(x.shape[0], 2), 1) * torch.ones(2)

    result = assert_same(
        blocks,
        torch.randn(5),
        dynamic=({0: "n"},),
        others=[(torch.randn(size),) for size in (1, 9, 13, 30)],
    )
    assert [(symbol.lower, symbol.upper) for symbol in result.symbols] == [(1, None)]
