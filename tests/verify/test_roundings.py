"""How far a quantised model moves when its roundings fall the other way."""

from __future__ import annotations

import pytest
import torch

from onnxpert.verify.roundings import Jolts, sway

# What torch says of quantised dtypes, and their future.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_a_model_that_rounds_nothing_is_not_moved() -> None:
    jolts, x = Jolts(0), torch.randn(64)
    with jolts:
        y = x * 2 + x.round()
    assert not jolts.met
    assert torch.equal(y, x * 2 + x.round())


def test_some_integers_move_by_one_step() -> None:
    x = torch.randn(1024, generator=torch.Generator().manual_seed(0))
    plain = torch.quantize_per_tensor(x, 0.1, 128, torch.quint8).int_repr().int()
    jolts = Jolts(1)
    with jolts:
        moved = torch.quantize_per_tensor(x, 0.1, 128, torch.quint8).int_repr().int()
    assert jolts.met
    apart = (plain - moved).abs()
    assert 1 <= int(apart.sum()) <= 1024 // 256
    assert int(apart.max()) == 1


def test_it_is_the_same_for_a_seed() -> None:
    x = torch.randn(1024, generator=torch.Generator().manual_seed(0))

    def run(seed: int) -> torch.Tensor:
        with Jolts(seed):
            return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    assert torch.equal(run(3), run(3))
    assert not torch.equal(run(3), run(4))


def grid(*steps: int) -> torch.Tensor:
    return torch.tensor(steps, dtype=torch.float32) * 0.1


def test_a_few_ties_are_within_one_step() -> None:
    want = grid(*range(8))
    found = sway(want, grid(0, 1, 2, 3, 4, 5, 6, 8), lambda turn: grid(1, *range(1, 8)))
    assert found is not None
    assert found.is_one_step
    assert abs(found.step - 0.1) < 1e-6
    assert found.share == 1 / 8


def test_a_zero_point_that_is_one_off_is_no_tie() -> None:
    want = grid(*range(8))
    found = sway(want, grid(*range(1, 9)), lambda turn: grid(1, *range(1, 8)))
    assert found is not None
    assert not found.is_one_step
    assert not found.is_within


def test_two_steps_are_too_many() -> None:
    found = sway(grid(*range(8)), grid(0, 1, 2, 3, 4, 5, 6, 10), lambda turn: grid(1, *range(1, 8)))
    assert found is not None
    assert not found.is_one_step
    assert not found.is_within


def test_a_model_without_integers_has_no_sway() -> None:
    assert sway(grid(1, 2), grid(1, 3), lambda turn: None) is None
