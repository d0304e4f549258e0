"""Inputs at other sizes and values stay of the kind the model knows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from onnxpert.core.errors import UsageError
from onnxpert.core.types import DimSpec
from onnxpert.verify.file import FileFacts, FileInput
from onnxpert.verify.inputs import Case, Inputs, bind
from onnxpert.verify.values import Values


def inputs_of(load: Any, value: torch.Tensor, *dims: int | str | None) -> Inputs:
    dtype = str(value.dtype).removeprefix("torch.")
    return bind(load(None, x=value), FileFacts((FileInput("x", dtype, dims),), ("y",), {}))


def built(load: Any, value: torch.Tensor, n: int, values: Values) -> torch.Tensor:
    """The case of size n along the first axis."""
    dims = ("n", *value.shape[1:])
    (result,) = inputs_of(load, value, *dims).build(Case("case", {"n": n}, values), 0)
    assert isinstance(result, torch.Tensor)
    assert result.dtype == value.dtype
    assert result.shape == (n, *value.shape[1:])
    return result


def test_whole_numbers_are_repeated_or_cropped(load: Any) -> None:
    ids = torch.tensor([5, 6, 7])
    assert built(load, ids, 5, Values.SHUFFLED).tolist() == [5, 6, 7, 5, 6]
    assert built(load, ids, 2, Values.SHUFFLED).tolist() == [5, 6]
    assert sorted(built(load, ids, 3, Values.SHUFFLED).tolist()) == [5, 6, 7]


def test_floats_are_drawn_from_the_example(load: Any) -> None:
    value = torch.randint(9, (4, 3)) * 1.5
    drawn = built(load, value, 7, Values.SHUFFLED)
    assert set(drawn.reshape(-1).tolist()) <= set(value.reshape(-1).tolist())
    assert len(drawn.unique()) > 3
    assert torch.equal(built(load, value, 7, Values.REPEATED), value[[0, 1, 2, 3, 1, 2, 3]])


def test_distinct_floats_stay_distinct_and_within_the_example(load: Any) -> None:
    value = torch.rand(4, 3)
    drawn = built(load, value, 70, Values.SHUFFLED)
    assert len(drawn.unique()) == drawn.numel()
    assert value.min() <= drawn.min() <= drawn.max() <= value.max()


@pytest.mark.parametrize("fill", [0.0, 2.0])
def test_a_constant_example_gives_way_to_real_values(load: Any, fill: float) -> None:
    drawn = built(load, torch.full((50, 3), fill), 60, Values.SHUFFLED)
    assert len(drawn.unique()) > 100
    assert drawn.std() == pytest.approx(fill or 1.0, rel=0.3)


def test_wild_floats_have_all_that_hurts(load: Any) -> None:
    value = torch.rand(40, 3) * 5
    wild = built(load, value, 40, Values.WILD)
    assert (wild < 0).any()
    assert (wild == 0).any()
    assert wild.max() > value.max()


def test_minus_infinity_stays_a_mask(load: Any) -> None:
    mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    for values in (Values.WILD, Values.SHUFFLED):
        assert set(built(load, mask, 6, values).unique().tolist()) <= {0.0, -torch.inf}


def test_masks_get_holes_but_never_an_empty_row(load: Any) -> None:
    for mask in (torch.ones(5, 9, dtype=torch.bool), torch.ones(5, 9, dtype=torch.int64)):
        wild = built(load, mask, 5, Values.WILD)
        assert set(wild.unique().tolist()) == {0, 1}
        assert wild[:, 0].all()


def test_other_whole_numbers_stay_the_same_set(load: Any) -> None:
    ids = torch.tensor([9, 4, 7, 1, 0])
    wild = built(load, ids, 5, Values.WILD)
    assert sorted(wild.tolist()) == sorted(ids.tolist())


@pytest.mark.parametrize(
    "dtype",
    [torch.float8_e4m3fn, torch.bfloat16, torch.uint16, torch.uint64, torch.complex64, torch.int8],
)
@pytest.mark.parametrize("values", list(Values))
def test_every_dtype_can_be_varied(load: Any, dtype: torch.dtype, values: Values) -> None:
    value = torch.tensor([[1.0, 2.0], [3.0, 0.0]]).to(dtype)
    built(load, value, 2, values)
    if values is not Values.EXAMPLE:
        built(load, value, 5, values)


def test_an_empty_example_can_grow(load: Any) -> None:
    assert built(load, torch.ones(0, 3), 2, Values.REPEATED).tolist() == [[0.0] * 3] * 2


def test_a_case_is_the_same_each_time_and_another_for_another_seed(load: Any) -> None:
    inputs = inputs_of(load, torch.randn(4), "n")
    case = Case("n=9", {"n": 9}, Values.SHUFFLED)
    one, again, other = (inputs.build(case, seed)[0] for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_the_example_is_handed_on_untouched(load: Any) -> None:
    value = torch.randn(3)
    (same,) = inputs_of(load, value, "n").build(Case("example", {"n": 3}, Values.EXAMPLE), 0)
    assert same is value


def facts_of(*names: str, dtype: str = "float32") -> FileFacts:
    return FileFacts(tuple(FileInput(name, dtype, (2,)) for name in names), ("y",), {})


def fed(load: Any, facts: FileFacts, **values: Any) -> dict[str, float]:
    inputs = bind(load(None, **values), facts)
    leaves = inputs.build(Case("example", inputs.example, Values.EXAMPLE), 0)
    return {name: array.reshape(-1)[0].item() for name, array in inputs.feeds(leaves).items()}


def test_inputs_are_matched_by_position(load: Any) -> None:
    values = {"a": torch.zeros(2), "b": torch.ones(2)}
    for names in itertools.permutations(("a", "b")):  # names of the user's choice may mislead
        assert list(fed(load, facts_of(*names), **values).values()) == [0.0, 1.0]


def test_inputs_are_matched_by_name_where_positions_cannot_be_right(load: Any) -> None:
    values = {"a": torch.zeros(2, dtype=torch.int64), "b": torch.ones(2), "c": torch.ones(2)}
    assert fed(load, facts_of("c"), **values) == {"c": 1.0}  # the others are unused
    facts = FileFacts((FileInput("b", "float32", (2,)), FileInput("a", "int64", (2,))), (), {})
    del values["c"]
    assert fed(load, facts, **values) == {"b": 1.0, "a": 0}


def test_what_cannot_be_matched_is_misuse(load: Any) -> None:
    with pytest.raises(UsageError, match="the file takes p, q; the example has a"):
        bind(load(None, a=torch.zeros(2)), facts_of("p", "q"))


def test_constants_are_no_inputs(load: Any) -> None:
    values = {"a": torch.zeros(2), "flag": True, "none": None, "b": torch.ones(2), "n": 3}
    assert fed(load, facts_of("p", "q"), **values) == {"p": 0.0, "q": 1.0}


@pytest.mark.parametrize("dims", [(), (1,)])
def test_a_number_that_varies_is_fed_as_a_tensor(load: Any, dims: tuple[int, ...]) -> None:
    facts = FileFacts((FileInput("n", "int64", dims),), ("y",), {})
    inputs = bind(load(None, n=6, scalars={"n": DimSpec("half", scale=2)}), facts)
    assert inputs.example == {"half": 3}
    leaves = inputs.build(Case("case", {"half": 5}, Values.REPEATED), 0)
    assert leaves == (10,)
    array = inputs.feeds(leaves)["n"]
    assert (array.dtype, array.shape) == (np.int64, dims)


def test_a_complex_input_is_fed_as_pairs(load: Any) -> None:
    inputs = bind(
        load(None, x=torch.tensor([1 + 2j])),
        FileFacts((FileInput("x", "float32", ("n", 2)),), ("y",), {}),
    )
    leaves = inputs.build(Case("case", {"n": 3}, Values.REPEATED), 0)
    assert inputs.feeds(leaves)["x"].tolist() == [[1.0, 2.0]] * 3


@pytest.mark.parametrize("values", [Values.WILD, Values.SHUFFLED])
def test_an_ordered_example_stays_ordered(load: Any, values: Values) -> None:
    made = built(load, torch.tensor([-1.0, 0.0, 2.0, 5.0]), 7, values)
    assert (made[1:] >= made[:-1]).all()


@pytest.mark.parametrize("values", [Values.WILD, Values.SHUFFLED])
def test_edges_stay_in_order_and_positions_need_not(load: Any, values: Values) -> None:
    edges = torch.tensor([0, 3, 4, 9, 12, 40], dtype=torch.uint8)
    assert built(load, edges, 6, values).tolist() == edges.tolist()
    places = torch.arange(64)
    assert built(load, places, 64, values).tolist() != places.tolist()


def test_an_index_stays_within_a_smaller_size(load: Any) -> None:
    assert built(load, torch.tensor([3, 0, 2, 1]), 2, Values.SHUFFLED).max() <= 1
    assert built(load, torch.tensor([4, 4, 2, 1]), 2, Values.REPEATED).tolist() == [2, 2]
    assert built(load, torch.tensor([9, 8, 7, 6]), 2, Values.REPEATED).tolist() == [9, 8]


@pytest.mark.parametrize("values", [Values.WILD, Values.SHUFFLED, Values.REPEATED])
def test_nothing_to_draw_from_is_drawn_from_nothing(load: Any, values: Values) -> None:
    assert built(load, torch.empty(0, 2), 3, values).shape == (3, 2)
    assert built(load, torch.empty(0, 2).long(), 3, values).shape == (3, 2)
