"""Which sizes a proof tries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from onnxpert.verify.cases import Wish, across, at, example, remade, wishes
from onnxpert.verify.file import FileFacts, FileInput
from onnxpert.verify.inputs import Inputs, bind
from onnxpert.verify.turning import aimed, turned
from onnxpert.verify.values import Values


@pytest.fixture
def make(load: Any) -> Any:
    def inputs(
        sizes: dict[str, int], ranges: Mapping[str, tuple[int, int | None]] | None = None
    ) -> Inputs:
        loaded = load(None, x=torch.zeros(tuple(sizes.values())))
        given = FileInput("x", "float32", tuple(sizes))
        return bind(loaded, FileFacts((given,), ("y",), ranges or {}))

    return inputs


def first_sizes(found: list[Wish]) -> list[dict[str, int]]:
    return [dict(wish.ways[0].sizes) for wish in found]


def test_one_symbol(make: Any) -> None:
    inputs = make({"n": 4})
    assert dict(example(inputs).sizes) == {"n": 4}
    assert first_sizes(list(wishes(inputs))) == [{"n": 5}, {"n": 4}, {"n": 1}]


def test_two_symbols_are_changed_together_and_apart(make: Any) -> None:
    found = first_sizes(list(wishes(make({"n": 4, "m": 4}))))
    assert found[0]["n"] != found[0]["m"]
    assert 4 not in found[0].values()
    assert {"n": 1, "m": 4} in found
    assert {"n": 4, "m": 1} in found
    assert {"n": 5, "m": 4} in found
    assert {"n": 4, "m": 5} in found


def test_many_symbols_are_tried_at_their_lowest_together(make: Any) -> None:
    found = first_sizes(list(wishes(make({"a": 2, "b": 3, "c": 4}, {"c": (2, None)}))))
    assert {"a": 1, "b": 1, "c": 2} in found


def test_ranges_are_kept(make: Any) -> None:
    for low, high in ((2, 4), (4, 4), (3, None), (0, 5)):
        for wish in wishes(make({"n": 4}, {"n": (low, high)})):
            for way in wish.ways:
                assert max(low, 1) <= way.sizes["n"] <= (high or 10**9)


def test_a_smallest_example_gets_two_larger_sizes(make: Any) -> None:
    found = [size for wish in wishes(make({"n": 1})) for size in [wish.ways[0].sizes["n"]]]
    assert len({size for size in found if size > 1}) >= 2


def test_a_size_that_may_not_vary_is_left_alone(make: Any) -> None:
    found = list(wishes(make({"n": 4}, {"n": (4, 4)})))
    assert first_sizes(found) == [{"n": 4}]


def test_nothing_dynamic_leaves_the_values(make: Any) -> None:
    (wish,) = wishes(make({}))
    assert [way.values for way in wish.ways] == [Values.WILD, Values.SHUFFLED, Values.NEAR]


def test_further_sizes_are_tried_unless_the_user_ruled_them_out(make: Any) -> None:
    inputs = dataclasses.replace(make({"n": 4, "m": 6}), asked={"n": (2, 9)})
    sizes = [{"n": 8}, {"n": 1}, {"n": 4, "m": 6}, {"n": 3, "m": 6}, {"k": 3}]
    assert first_sizes(list(at(inputs, sizes, 0.0))) == [{"n": 8, "m": 6}, {"n": 3, "m": 6}]


def test_further_sizes_are_tried_beyond_what_the_file_was_narrowed_to(make: Any) -> None:
    inputs = make({"n": 4}, {"n": (3, 9)})
    assert first_sizes(list(at(inputs, [{"n": 1}], 0.0))) == [{"n": 1}]


def test_a_limit_that_costs_much_is_tried_beside_ones(make: Any) -> None:
    rest = {"k": 5, "mask": 4}
    inputs = dataclasses.replace(make({"n": 4, "m": 6, **rest}), ranges={"k": (2, 9)})
    one, both = at(inputs, [{"n": 2049}, {"n": 2049, "m": 6}], 1e-3)
    tried = [dict(way.sizes) for way in one.ways]
    assert tried[0] == {"n": 2049, "m": 1, **rest}
    assert {"n": 2049, "m": 6, **rest} in tried  # where the model refuses a batch of one
    assert both.ways[0].sizes == {"n": 2049, "m": 6, **rest}
    (cheap,) = at(inputs, [{"n": 2049}], 1e-7)
    assert cheap.ways[0].sizes == {"n": 2049, "m": 6, **rest}
    (near,) = at(inputs, [{"n": 5}], 10.0)  # as the example does, whatever that takes
    assert near.ways[0].sizes == {"n": 5, "m": 6, **rest}


def test_a_case_can_be_made_again_from_its_row(make: Any) -> None:
    inputs = make({"n": 4, "m": 6})
    every = [example(inputs), *(way for wish in wishes(inputs) for way in wish.ways)]
    assert {Values.EXAMPLE, Values.WILD, Values.SHUFFLED} <= {case.values for case in every}
    for case in every:
        assert remade(case.name, case.sizes) == case
    for case in (example(inputs), *turned(inputs), *aimed(inputs, (2, -3, 0.5))):
        assert remade(case.name, case.sizes) == case
        moved = across(inputs, case, {"n": 7})
        assert remade(moved.name, moved.sizes) == moved


def test_fussy_models_have_more_than_one_way(make: Any) -> None:
    resized = next(iter(wishes(make({"h": 64, "w": 64}))))
    sizes = [(way.sizes["h"], way.sizes["w"]) for way in resized.ways]
    assert sizes[0] == (67, 71)
    assert (128, 128) in sizes  # both scaled alike
    assert (128, 64) in sizes  # one alone
