"""How sizes that do not vary, or only within a range, are told."""

from __future__ import annotations

from onnxpert.core.types import Bounded, Symbol, Withdrawn
from onnxpert.diagnose.listing import listed
from onnxpert.diagnose.rules.shapes.shp203_bounded_dimension import bounded_dimension
from onnxpert.diagnose.rules.shapes.shp205_withdrawn_offer import withdrawn_offer


def test_the_last_of_several_things_is_joined_with_and() -> None:
    assert [listed(things) for things in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def test_kept_sizes_are_told_axis_by_axis() -> None:
    dims = (("image", 0, 2), ("image", 2, 32), ("mask", 1, 32))
    (hit,) = withdrawn_offer.check(Withdrawn(dims, "it did not fit"))
    assert hit.message == "axes 0 and 2 of image and axis 1 of mask keep their sizes 2, 32 and 32"


def test_many_kept_sizes_are_counted() -> None:
    dims = tuple(("image", axis, axis + 2) for axis in range(6))
    (hit,) = withdrawn_offer.check(Withdrawn(dims, "it did not fit"))
    assert hit.message == "axes 0, 1, 2 and 3 of image and 2 more keep their sizes 2, 3, 4 and 5"


def test_a_range_of_one_size_is_told_as_that_size() -> None:
    (hit,) = bounded_dimension.check(Bounded(Symbol("n", 5, 5, 5), None, offered=True))
    assert hit.message == "the file takes n of exactly 5; the model may take more"
