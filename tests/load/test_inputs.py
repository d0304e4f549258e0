"""Inputs of any structure: flattened to named leaves, and rebuilt as they were."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from onnxpert.core.types import Loaded, Request
from onnxpert.load import load

T = torch.ones
Pair = collections.namedtuple("Pair", "left right")


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Config:
    field: torch.Tensor
    scale: float = 2.0
    size: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        self.size = len(self.field)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    inner: Any


class Net(nn.Module):
    def forward(self, a=None, b=None, *rest, c=None, **more):  # type: ignore[no-untyped-def]
        return a


def names(loaded: Loaded) -> list[str]:
    return [leaf.name for leaf in loaded.leaves]


def paths(loaded: Loaded) -> list[str]:
    return [leaf.path for leaf in loaded.leaves]


def given(*args: Any, **kwargs: Any) -> Loaded:
    loaded = load(Request(Net(), args, kwargs))
    assert loaded.problems == ()
    return loaded


def test_lists_tuples_and_dictionaries() -> None:
    loaded = given([T(1), (T(2), T(3))], {"ids": T(1), 3: T(2), "a b": T(1)})
    assert names(loaded) == ["a_0", "a_1_0", "a_1_1", "b_ids", "b_3", "b_a_b"]
    assert paths(loaded) == ["a[0]", "a[1][0]", "a[1][1]", 'b["ids"]', "b[3]", 'b["a b"]']


def test_namedtuple_and_dataclass() -> None:
    loaded = given(Pair(T(1), T(2)), Config(T(4)))
    assert names(loaded) == ["a_left", "a_right", "b_field", "b_scale"]
    assert paths(loaded) == ["a.left", "a.right", "b.field", "b.scale"]
    args, _ = loaded.rebuild([T(1), T(2), T(7), 3.0])
    assert isinstance(args[0], Pair)
    assert isinstance(args[1], Config)
    assert args[1].size == 7  # what the constructor derives is derived again
    assert args[1].scale == 3.0


def test_variadic_parameters_and_order_of_the_signature() -> None:
    loaded = load(Request(Net(), (T(1), T(2), T(3), T(4)), {"z": T(5), "c": T(6)}))
    assert names(loaded) == ["a", "b", "rest_0", "rest_1", "c", "z"]
    assert paths(loaded) == ["a", "b", "rest[0]", "rest[1]", "c", "z"]
    assert list(loaded.kwargs) == ["c", "z"]
    assert len(loaded.args) == 4


def test_constants_are_leaves() -> None:
    constants = [None, 1, True, 0.5, 1j, "s", torch.float16, torch.device("cpu"), Colour.RED]
    loaded = given(constants, torch.Size([1, 2]))
    assert [leaf.value for leaf in loaded.leaves] == [*constants, torch.Size([1, 2])]


def test_an_object_without_tensors_is_a_constant() -> None:
    class Options:
        def __init__(self) -> None:
            self.flags = ["fast"]

    options = Options()
    loaded = given(T(1), options)
    assert names(loaded) == ["a", "b"]
    assert loaded.args[1] is not options
    assert loaded.args[1].flags == ["fast"]


STRUCTURES = [
    [T(1), [T(2), []], ()],
    {"x": T(1), "y": {"z": (T(2), None)}},
    collections.OrderedDict(b=T(1), a=T(2)),
    collections.defaultdict(list, k=T(1)),
    collections.deque([T(1), T(2)], maxlen=3),
    Pair(T(1), [T(2)]),
    Frozen(Frozen(T(3))),
    Config(T(2)),
]


@pytest.mark.parametrize("value", STRUCTURES, ids=lambda value: type(value).__name__)
def test_rebuilt_as_it_was(value: Any) -> None:
    loaded = given(value, c=[value])
    values = [leaf.value for leaf in loaded.leaves]
    args, kwargs = loaded.rebuild(values)
    for rebuilt in (args[0], kwargs["c"][0]):
        assert type(rebuilt) is type(value)
        assert rebuilt is not value
        assert repr(rebuilt) == repr(value)
    if isinstance(value, collections.deque):
        assert args[0].maxlen == 3


def test_subclasses_of_containers_keep_their_class() -> None:
    class Batch(dict[str, Any]):
        extra = 1

    class Many(list[Any]):
        pass

    batch = Batch(ids=T(1))
    batch.extra = 5
    loaded = given(batch, Many([T(2)]))
    assert names(loaded) == ["a_ids", "b_0"]
    args, _ = loaded.rebuild([T(3), T(4)])
    assert isinstance(args[0], Batch)
    assert args[0].extra == 5
    assert args[0]["ids"].shape == (3,)
    assert isinstance(args[1], Many)
    assert batch["ids"].shape == (1,)


def test_registered_containers_with_and_without_keys() -> None:
    class Box:
        def __init__(self, item: Any) -> None:
            self.item = item

    class Keyed(Box):
        pass

    pytree.register_pytree_node(Box, lambda b: ([b.item], None), lambda v, _: Box(*v))
    pytree.register_pytree_node(
        Keyed,
        lambda b: ([b.item], None),
        lambda v, _: Keyed(*v),
        flatten_with_keys_fn=lambda b: ([(pytree.GetAttrKey("item"), b.item)], None),
    )
    loaded = given(Box(T(1)), Keyed(T(2)))
    assert paths(loaded) == ["a[0]", "b.item"]
    args, _ = loaded.rebuild([T(3), T(4)])
    assert args[0].item.shape == (3,)
    assert isinstance(args[1], Keyed)


def test_transformers_cache_and_output() -> None:
    transformers = pytest.importorskip("transformers")
    cache = transformers.DynamicCache()
    cache.update(T(1, 2, 3, 4), 2 * T(1, 2, 3, 4), 0)
    output = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=T(2))
    encoding = transformers.BatchEncoding({"input_ids": T(1, 2)})
    loaded = given(cache, output, c=encoding)
    assert names(loaded) == [
        "a.0.key",
        "a.0.value",
        "b_last_hidden_state",
        "c_input_ids",
    ]
    args, kwargs = loaded.rebuild([3 * leaf.value for leaf in loaded.leaves])
    assert args[0].layers[0].values.max() == 6
    assert args[0].get_seq_length() == 3
    args[0].update(T(1, 2, 1, 4), T(1, 2, 1, 4), 0)
    assert cache.get_seq_length() == 3
    assert args[1].last_hidden_state.max() == 3
    assert type(kwargs["c"]) is transformers.BatchEncoding


def test_an_empty_cache_is_new_for_every_call() -> None:
    transformers = pytest.importorskip("transformers")
    mine = transformers.DynamicCache()
    loaded = given(mine)
    for _ in range(2):
        args, _ = loaded.rebuild([leaf.value for leaf in loaded.leaves])
        assert args[0].get_seq_length() == 0
        args[0].update(T(1, 2, 3, 4), T(1, 2, 3, 4), 0)
    assert mine.get_seq_length() == 0


def test_an_unknown_class_with_tensors_is_named() -> None:
    class Box:
        def __init__(self) -> None:
            self.item = T(1)

    loaded = load(Request(Net(), (T(1), [Box()])))
    (problem,) = loaded.problems
    assert problem.kind == "unsupported-input"
    assert "`b[0]`" in problem.message
    assert "Box, which no file can be given" in problem.message
    assert "register_pytree_node(Box" in problem.help
    assert names(loaded) == ["a", "b_0_item"]


def test_numpy_arrays_and_endless_lists_are_named() -> None:
    endless: list[Any] = [T(1)]
    endless.append(endless)
    loaded = load(Request(Net(), (numpy.ones(2), endless)))
    assert [problem.kind for problem in loaded.problems] == ["unsupported-input"] * 2
    assert "torch.from_numpy" in loaded.problems[0].help


def test_names_are_unique_and_parameters_keep_theirs() -> None:
    def model(x, x_0, y):  # type: ignore[no-untyped-def]
        return x

    loaded = load(Request(model, ([T(1)], T(2), {"a.b": T(1), "a_b": T(2)})))
    assert names(loaded) == ["x_0_1", "x_0", "y_a_b", "y_a_b_1"]


def test_tensors_are_copies_of_their_own() -> None:
    shared = T(2, 3)
    loaded = given(shared, shared, c=[shared])
    storages = {leaf.value.data_ptr() for leaf in loaded.leaves} | {shared.data_ptr()}
    assert len(storages) == 4
    loaded.args[0].zero_()
    assert shared.min() == 1


TENSORS = {
    "transposed": T(2, 3).t(),
    "channels last": T(1, 3, 4, 4).to(memory_format=torch.channels_last),
    "expanded": T(1, 3).expand(4, 3),
    "gaps": torch.arange(12.0).reshape(3, 4)[:, ::2],
    "offset": torch.arange(12.0)[5:],
    "empty": T(0, 3),
    "scalar": torch.tensor(2.0),
    "half": T(2, dtype=torch.float16),
    "complex": T(2, dtype=torch.complex64),
}


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=list(TENSORS))
def test_copies_keep_strides_and_values(tensor: torch.Tensor) -> None:
    copy_ = given(tensor).leaves[0].value
    assert copy_.stride() == tensor.stride()
    assert copy_.dtype is tensor.dtype
    torch.testing.assert_close(copy_, tensor)
    assert copy_.numel() == 0 or copy_.data_ptr() != tensor.data_ptr()


def test_copies_have_no_history() -> None:
    leaf = T(2, requires_grad=True)
    parameter = nn.Parameter(T(2))
    loaded = given(leaf * 2, parameter, c=[leaf])
    assert not any(each.value.requires_grad for each in loaded.leaves)
    assert not any(isinstance(each.value, nn.Parameter) for each in loaded.leaves)
    with torch.inference_mode():
        inside = T(2)
    assert not given(inside).leaves[0].value.is_inference()


def test_sparse_tensors_are_copied_and_told() -> None:
    sparse = torch.eye(2).to_sparse()
    loaded = load(Request(Net(), (sparse,)))
    assert [problem.kind for problem in loaded.problems] == ["unsupported-input"]
    copy_ = loaded.leaves[0].value
    assert copy_.is_sparse
    assert torch.equal(copy_.to_dense(), torch.eye(2))


def test_user_values_are_left_alone() -> None:
    kwargs = {"c": [T(1)], "b": {"k": T(2)}}
    before = copy.deepcopy(kwargs)
    loaded = load(Request(Net(), (), kwargs))
    loaded.kwargs["c"].append(1)
    loaded.kwargs["b"].clear()
    assert repr(kwargs) == repr(before)


def test_rebuild_wants_a_value_per_leaf() -> None:
    with pytest.raises(ValueError, match="1 values for 2 leaves"):
        given(T(1), T(2)).rebuild([T(1)])
