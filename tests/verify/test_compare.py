"""Comparison: what passes, what fails, and what is said about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from onnxpert.verify import compare as compare_module
from onnxpert.verify.arrays import to_array, to_tensor
from onnxpert.verify.compare import compare, differs_in_signs

NAN, INF = math.nan, math.inf


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.float32)


def test_equal_is_equal() -> None:
    want = torch.tensor([1.0, NAN, INF, -INF])
    found = compare(want, array(1, NAN, INF, -INF))
    assert (found.problem, found.max_abs, found.max_rel) == ("", 0.0, 0.0)


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ([1.0, NAN], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, NAN]),
        ([1.0, INF], [1.0, -INF]),
        ([1.0, INF], [1.0, 3e38]),
        ([1.0, 2.0], [1.0, INF]),
        ([1.0, NAN], [1.0, INF]),
    ],
)
def test_nan_and_infinity_have_their_places(want: list[float], got: list[float]) -> None:
    found = compare(torch.tensor(want), array(*got))
    assert "on one side only: at [1]" in found.problem
    assert found.max_abs is not None
    assert math.isnan(found.max_abs)


def test_the_last_digits_may_differ() -> None:
    found = compare(torch.tensor([1.0, -100.0]), array(1.0005, -100.01))
    assert found.problem == ""
    assert found.max_abs == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-12, 1e-5, 1.0, 1e6])
def test_a_wrong_value_is_wrong_at_every_scale(scale: float) -> None:
    want = torch.tensor([1.0, 0.5]) * scale
    wrong = compare(want, to_array(want * 1.5))
    right = compare(want, to_array(want * 1.0001))
    assert right.problem == ""
    assert wrong.problem


def test_noise_around_zero_passes() -> None:
    assert compare(torch.zeros(3), array(5e-8, 0, -5e-8)).problem == ""
    assert compare(torch.zeros(3), array(1e-5, 0, 0)).problem


def test_an_output_of_tiny_probabilities_is_not_waved_through() -> None:
    want = torch.full((1000,), 1e-3)
    assert compare(want, array(*([0.0] * 1000))).problem


def test_the_message_names_the_worst_element() -> None:
    want = torch.arange(6.0).reshape(2, 3)
    got = want.clone()
    got[1, 2] = 9
    found = compare(want, to_array(got))
    assert found.problem == (
        "1 of 6 values are too far off: at [1, 2] the model gives 5, the file 9"
    )
    assert found.max_abs == 4
    assert found.max_rel == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (np.ones((1, 4), np.float32), "the model gives shape [3, 4], the file [1, 4]"),
        (np.ones((4,), np.float32), "the model gives shape [3, 4], the file [4]"),
        (np.ones((3, 4), np.float64), "the model gives float32, the file float64"),
        (np.ones((3, 4), np.int64), "the model gives float32, the file int64"),
    ],
)
@pytest.mark.parametrize("values", [True, False])
def test_shape_and_dtype_are_strict(got: Any, said: str, values: bool) -> None:
    assert compare(torch.ones(3, 4), got, values=values).problem == said


def test_without_values_only_the_form_counts() -> None:
    found = compare(torch.ones(2), array(5, 6), values=False)
    assert (found.problem, found.max_abs) == ("", None)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.uint16,
        torch.int32,
        torch.uint32,
        torch.int64,
        torch.uint64,
        torch.bool,
    ],
)
def test_whole_numbers_are_exact(dtype: torch.dtype) -> None:
    want = torch.tensor([0, 1, 1]).to(dtype)
    assert compare(want, to_array(want)).problem == ""
    wrong = torch.tensor([0, 1, 0]).to(dtype)
    found = compare(want, to_array(wrong))
    assert found.problem.startswith("1 of 3 values differ: at [2] the model gives ")
    assert found.max_abs == 1


def test_a_large_whole_number_is_exact() -> None:
    want = torch.tensor([2**53])
    assert compare(want, np.array([2**53 + 1])).problem


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.float64]
)
def test_other_floats(dtype: torch.dtype) -> None:
    want = torch.tensor([[1.0, -2.0], [0.5, 4.0]]).to(dtype)
    assert torch.equal(to_tensor(to_array(want)).float(), want.float())
    assert compare(want, to_array(want)).problem == ""
    assert "too far off" in compare(want, to_array((want.float() * 2).to(dtype))).problem


def test_complex_compares_as_pairs() -> None:
    want = torch.tensor([1 + 2j, 3 - 1j])
    pairs = np.array([[1, 2], [3, -1]], dtype=np.float32)
    assert compare(want, pairs).problem == ""
    assert compare(want.conj(), pairs).problem
    assert compare(want, want.numpy()).problem == ""
    assert compare(want, (want * 1.1).numpy()).problem


@pytest.mark.parametrize(
    ("want", "got", "fine"),
    [
        (3, np.array(3), True),
        (3, np.array(4), False),
        (3, np.array([3]), False),
        (True, np.array(True), True),
        (True, np.array(1), False),
        (0.1, np.array(0.1, np.float32), True),
        (0.1, np.array(0.1, np.float64), True),
        (0.1, np.array(0, np.int64), False),
    ],
)
def test_python_numbers_are_tensors_of_no_dimension(want: Any, got: Any, fine: bool) -> None:
    assert (compare(want, got).problem == "") is fine


def test_what_is_no_tensor_is_said() -> None:
    assert "the file gives" in compare(torch.ones(1), np.array(["a"])).problem


def test_an_empty_output_is_equal_to_an_empty_one() -> None:
    assert compare(torch.ones(0, 3), np.ones((0, 3), np.float32)).problem == ""


def test_a_long_output_is_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_module, "CHUNK", 3)
    want = torch.arange(10.0)
    got = want.clone()
    got[8] = 0
    assert "at [8] the model gives 8, the file 0" in compare(want, to_array(got)).problem
    got[8] = NAN
    assert "at [8] the model gives 8, the file nan" in compare(want, to_array(got)).problem


def test_coarser_inside_means_coarser_outside() -> None:
    want, got = torch.tensor([1.0]), array(1.02)
    assert compare(want, got).problem
    assert compare(want, got, computed_in="bfloat16").problem == ""
    assert compare(torch.tensor([1]), np.array([2]), computed_in="bfloat16").problem


def test_signs_of_whole_vectors_are_told_from_other_differences() -> None:
    vectors = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)))[0]
    columns = vectors * torch.tensor([1.0, -1.0, -1.0, 1.0])
    assert differs_in_signs(vectors, columns.numpy())
    assert differs_in_signs(vectors, columns.mT.mT.mul(-1).numpy())
    assert differs_in_signs(vectors.mT, columns.mT.contiguous().numpy())
    assert not differs_in_signs(vectors, (columns + 0.1).numpy())
    assert not differs_in_signs(vectors[0], -vectors[0].numpy())
