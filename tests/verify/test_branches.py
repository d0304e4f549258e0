"""Which sides of a branch an input takes, and what is tried so that each is taken."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from onnxpert.capture import capture
from onnxpert.core.types import Captured, Request
from onnxpert.load import load
from onnxpert.verify.branches import Sides, has_sides
from onnxpert.verify.walk import Walk


class Nested(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            if x.shape[0] > 3:
                return x * 2
            return x * 3
        while x.norm() > 1:
            x = x / 2
        return x


def captured(model: nn.Module, *args: Any, **options: Any) -> Captured:
    found = capture(load(Request(model, args, **options)))
    assert isinstance(found, Captured)
    return found


def test_the_sides_that_inputs_take_are_noted() -> None:
    graph = captured(Nested(), torch.ones(3), dynamic_shapes={"x": {0: "n"}})
    assert has_sides(graph)
    assert [branch.about_data for branch in graph.branches] == [True, False]
    sides = Sides(graph)
    assert sides.note({"x": torch.ones(3)})
    assert not sides.note({"x": torch.ones(2)})
    assert not sides.all_taken()
    assert sides.note({"x": torch.ones(5)})
    assert [(taken.yes, taken.no) for taken in sides.report()] == [(True, False), (True, True)]
    assert sides.note({"x": -torch.ones(5)})
    assert sides.all_taken()


def test_what_it_takes_to_tell_the_sides_is_counted() -> None:
    """In calls, those in the turns of a loop too; many elements count for calls."""
    sides = Sides(captured(Nested(), torch.ones(3), dynamic_shapes={"x": {0: "n"}}))
    counts = [0]
    for x in (torch.ones(3), torch.ones(3), -torch.ones(3) * 2**20, torch.ones(100_000)):
        sides.note({"x": x})
        counts.append(sides.work)
    once, again, in_turns, large = (b - a for a, b in itertools.pairwise(counts))
    assert 0 < once == again < 20 < in_turns
    assert large > once + 10


class Sized(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.shape[0] > 3 else x.flip(0)


def test_no_values_are_looked_for_where_sizes_decide() -> None:
    sides = Sides(captured(Sized(), torch.ones(3), dynamic_shapes={"x": {0: "n"}}))
    assert sides.note({"x": torch.ones(3)})
    assert [(taken.yes, taken.no) for taken in sides.report()] == [(False, True)]
    assert sides.all_taken()


@pytest.mark.parametrize("differ", [False, True])
def test_nothing_is_computed_where_sizes_decide(
    differ: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Both(nn.Module):
        """The sides may differ in a size, which is no number of the data's."""

        def forward(self, x: Tensor) -> Tensor:
            if x.shape[0] > 3:
                x = x[:2] if differ else x * 2
            return x.cos() if x.shape[1] > 4 else x.sin()

    shapes = {"x": {0: "n", 1: "m"}}
    sides = Sides(captured(Both(), torch.ones(3, 2), dynamic_shapes=shapes))
    ran: list[Any] = []
    monkeypatch.setattr(Walk, "run", lambda _, root, given: ran.append(given))
    assert sides.note({"x": torch.ones(3, 2)})
    assert sides.note({"x": torch.ones(7, 2)})
    assert sides.note({"x": torch.ones(7, 9)})
    sides.note({"x": torch.ones(3, 9)})
    assert all(taken.yes and taken.no for taken in sides.report())
    assert not ran


def test_a_loop_of_the_users_own_making_is_not_pythons() -> None:
    class Plain(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.where(x.sum() > 0, x, -x)

    assert not has_sides(captured(Plain(), torch.ones(3)))


def test_a_number_of_the_datas_is_nothing_or_something() -> None:
    class Positive(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[x > 0] * 2

    graph = captured(Positive(), torch.ones(3))
    assert has_sides(graph)
    sides = Sides(graph)
    assert sides.note({"x": torch.ones(3)})
    assert not sides.note({"x": torch.ones(3) * 2})
    assert not sides.all_counted()
    assert sides.note({"x": -torch.ones(3)})
    assert sides.all_counted()


def test_a_model_that_never_ends_is_not_waited_for() -> None:
    from onnxpert import diagnose

    class Roots(nn.Module):
        """Newton's method, which has no answer to a negative number."""

        def forward(self, x: Tensor) -> Tensor:
            guess = x / 2 + 0.5
            while (guess * guess - x).abs().max() > 1e-3:
                guess = 0.5 * (guess + x / guess)
            return guess

    assert diagnose(Roots(), (torch.tensor([9.0]),)).ok
