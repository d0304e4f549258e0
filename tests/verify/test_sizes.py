"""Sizes as files write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpert.verify.sizes import evaluate, solve, symbols

SIZES = {"batch": 3, "seq": 10, "s0": 7}


@pytest.mark.parametrize(
    ("dim", "size"),
    [
        (4, 4),
        ("batch", 3),
        ("2*batch + 1", 7),
        ("seq//3 - -1", 4),
        ("seq % batch", 1),
        ("Max(batch, seq)*Min(2, s0)", 20),
        ("floor(seq/batch)", 3),
        ("ceiling(seq/3)", 4),
        ("FloorDiv(seq, 2)", 5),
        ("Mod(seq, 4)", 2),
        ("batch**2", 9),
        ("batch*(seq/batch)", 10),
    ],
)
def test_arithmetic(dim: int | str, size: int) -> None:
    assert evaluate(dim, SIZES) == size


@pytest.mark.parametrize(
    ("dim", "said"),
    [
        ("seq/batch", "is 10/3"),
        ("seq//(batch - 3)", "divides by zero"),
        ("batch**batch**seq", "out of range"),
    ],
)
def test_what_is_no_size_is_an_error(dim: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate(dim, SIZES)


@pytest.mark.parametrize(
    ("dim", "names"),
    [
        ("batch", ("batch",)),
        ("2*batch + seq", ("batch", "seq")),
        ("Max(1, seq)", ("seq",)),
        # Names that other exporters give, none of them arithmetic.
        ("input.1_dynamic_axes_1", ("input.1_dynamic_axes_1",)),
        ("batch size", ("batch size",)),
        ("in", ("in",)),
        ("__import__('os').getcwd()", ("__import__('os').getcwd()",)),
    ],
)
def test_names(dim: str, names: tuple[str, ...]) -> None:
    assert symbols(dim) == names
    assert evaluate(dim, dict.fromkeys(names, 1)) >= 1


@given(st.integers(1, 200), st.integers(1, 200))
def test_the_example_gives_the_names_their_sizes(batch: int, seq: int) -> None:
    dims = ["2*seq + batch", "batch", "8*heads"]
    known = {"batch": batch, "seq": seq, "heads": batch}
    assert solve((dim, evaluate(dim, known)) for dim in dims) == known


def test_two_unknowns_in_one_dimension_are_left_alone() -> None:
    assert solve([("a + b", 5), ("c", 2)]) == {"c": 2}
