"""A model that a last digit moves, and one that it does not."""

from __future__ import annotations

import torch

from onnxpert.verify.tremor import Tremor


def test_every_result_moves_by_a_few_roundings_and_no_more() -> None:
    x = torch.randn(16, 64, generator=torch.Generator().manual_seed(0))
    weight = torch.eye(64)
    with Tremor(0):
        moved = x @ weight
    apart = (moved - x).abs() / x.abs()
    assert 0 < float(apart.max()) < 1e-6
    with Tremor(0):
        assert torch.equal(x @ weight, moved)
    with Tremor(1):
        assert not torch.equal(x @ weight, moved)


def test_what_is_no_result_of_its_own_stays() -> None:
    x = torch.ones(4, 4)
    with Tremor(0):
        seen, whole = x.t()[1:], torch.arange(4) + 1
        x.zero_()
    assert torch.equal(seen, torch.zeros(3, 4))
    assert whole.tolist() == [1, 2, 3, 4]


def test_wide_numbers_move_too_and_strides_stay() -> None:
    x = torch.randn(3, 5, dtype=torch.float64).t()
    with Tremor(0):
        moved = x * 1
    assert not torch.equal(moved, x)
    assert torch.allclose(moved, x, rtol=1e-14, atol=0)
    assert moved.stride() == x.stride()


def test_a_result_beside_others_moves() -> None:
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    still = torch.native_layer_norm(x, [8], None, None, 1e-5)
    with Tremor(0):
        moved = torch.native_layer_norm(x, [8], None, None, 1e-5)
    for one, other in zip(still, moved, strict=True):
        assert not torch.equal(one, other)
        torch.testing.assert_close(one, other, rtol=1e-6, atol=0)


def test_more_elements_than_are_drawn() -> None:
    x = torch.ones(1100, 1100)
    with Tremor(0):
        moved = x + 0
    assert 0.6 < float((moved != x).float().mean()) < 0.7


def test_whole_numbers_stay_whole() -> None:
    x = torch.linspace(0.5, 9.5, 10)
    with Tremor(0):
        made = [x.floor(), x.ceil(), x.round(), x.trunc()]
    assert all(torch.equal(one, one.round()) for one in made)
