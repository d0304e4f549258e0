"""Every spelling of what may vary comes to the same dims; what cannot be meant is told."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
import torch
from torch.export import AdditionalInputs, Dim, ShapesCollection
from torch.fx.experimental import dynamic_spec

from onnxpert.core.types import DimSpec, Loaded, Request
from onnxpert.load import load

T = torch.ones


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


def model(x, y=None, n=None):  # type: ignore[no-untyped-def]
    return x


def asked(*args: Any, shapes: Any = None, function: Any = model, **request: Any) -> Loaded:
    return load(Request(function, args, dynamic_shapes=shapes, **request))


def dims(loaded: Loaded) -> dict[str, dict[int, DimSpec]]:
    assert loaded.problems == (), loaded.problems
    return {leaf.name: dict(leaf.dims) for leaf in loaded.leaves if leaf.dims}


def told(loaded: Loaded, kind: str) -> str:
    (problem,) = loaded.problems
    assert problem.kind == kind, problem
    return f"{problem.message}\n{problem.help}"


BATCH = DimSpec("batch")


@pytest.mark.parametrize(
    "shapes",
    [
        {"x": {0: "batch"}},
        {"x": {0: Dim("batch")}, "y": None},
        {"x": {-2: "batch"}},
        {"x": ("batch", None)},
        {"x": ["batch", 3]},
        {"x": {0: "batch", 1: Dim.STATIC}},
        ({0: "batch"}, None),
        [("batch", None), {}],
        {0: {0: "batch"}},
    ],
    ids=repr,
)
def test_spellings_of_one_wish(shapes: Any) -> None:
    assert dims(asked(T(2, 3), T(4), shapes=shapes)) == {"x": {0: BATCH}}


def test_hints() -> None:
    shapes = {"x": {0: Dim.DYNAMIC, 1: Dim.AUTO(min=2, max=8)}, "y": Dim.AUTO}
    assert dims(asked(T(2, 3), T(4, 5), shapes=shapes)) == {
        "x": {0: DimSpec(), 1: DimSpec(lower=2, upper=8, asked=False)},
        "y": {0: DimSpec(asked=False), 1: DimSpec(asked=False)},
    }


def test_bounds_and_derived_dims() -> None:
    batch = Dim("batch", min=1, max=16)
    root = DimSpec("batch", 1, 16)
    found = dims(
        asked(T(2), T(5, 1, 6), shapes={"x": {0: batch}, "y": (2 * batch + 1, 1, batch * 3)})
    )
    assert found == {
        "x": {0: root},
        "y": {
            0: dataclasses.replace(root, scale=2, offset=1),
            2: dataclasses.replace(root, scale=3),
        },
    }


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("batch", DimSpec("batch")),
        ("2*batch + 1", DimSpec("batch", scale=2, offset=1)),
        ("batch * 3", DimSpec("batch", scale=3)),
        ("past - 1", DimSpec("past", offset=-1)),
        ("past + new", DimSpec("past_new")),
        ("batch size", DimSpec("batch_size")),
        ("", DimSpec()),
    ],
)
def test_names_as_text(text: str, spec: DimSpec) -> None:
    assert dims(asked(T(9), shapes={"x": {0: text}})) == {"x": {0: spec}}


def test_nested_structures() -> None:
    inputs = ([T(2), (T(3),)], {"k": T(4), 7: Pair(T(5), T(6))})
    shapes = {"x": [{0: "a"}, ({0: "b"},)], "y": {"k": {0: "c"}, 7: [{0: "d"}, {0: "e"}]}}
    expected = {
        "x_0": {0: DimSpec("a")},
        "x_1_0": {0: DimSpec("b")},
        "y_k": {0: DimSpec("c")},
        "y_7_a": {0: DimSpec("d")},
        "y_7_b": {0: DimSpec("e")},
    }
    assert dims(asked(*inputs, shapes=shapes)) == expected
    shapes["y"] = {"k": {0: "c"}, 7: {"a": {0: "d"}, "b": {0: "e"}}}
    assert dims(asked(*inputs, shapes=shapes)) == expected
    shapes["y"] = {"k": {0: "c"}, 7: Pair({0: "d"}, {0: "e"})}
    assert dims(asked(*inputs, shapes=shapes)) == expected
    flat = {"x_0": {0: "a"}, "x_1_0": {0: "b"}, "y_k": {0: "c"}, "y_7_a": {0: "d"}, "y_7_b": ["e"]}
    assert dims(asked(*inputs, shapes=flat)) == expected


def test_variadic_parameters() -> None:
    def many(*xs, **named):  # type: ignore[no-untyped-def]
        return xs

    def with_shapes(shapes: Any) -> dict[str, dict[int, DimSpec]]:
        return dims(load(Request(many, (T(2), T(3)), {"k": T(4)}, dynamic_shapes=shapes)))

    expected = {"xs_0": {0: DimSpec("a")}, "xs_1": {0: DimSpec("b")}, "k": {0: DimSpec("c")}}
    assert with_shapes({"xs": ({0: "a"}, {0: "b"}), "named": {"k": {0: "c"}}}) == expected
    assert with_shapes({"xs": ({0: "a"}, {0: "b"}), "k": {0: "c"}}) == expected
    assert with_shapes(({0: "a"}, {0: "b"}, {0: "c"})) == expected
    assert with_shapes((({0: "a"}, {0: "b"}), {"k": {0: "c"}})) == expected


def test_auto_is_every_axis_of_every_tensor() -> None:
    loaded = asked(T(2, 3), [T(4)], 5, shapes="auto")
    assert dims(loaded) == {
        "x": {0: DimSpec(asked=False), 1: DimSpec(asked=False)},
        "y_0": {0: DimSpec(asked=False)},
    }
    assert loaded.leaves[-1].scalar is None


def test_numbers_that_vary() -> None:
    loaded = asked(T(2), None, 5, shapes={"n": Dim.DYNAMIC})
    assert loaded.leaves[-1].scalar == DimSpec()
    assert asked(T(2), None, 5, shapes={"n": "steps"}).leaves[-1].scalar == DimSpec("steps")
    assert asked(T(2), None, 5, shapes={"n": None}).leaves[-1].scalar is None
    assert asked(T(2), None, 5, shapes={"n": Dim.AUTO}).leaves[-1].scalar is None
    assert not asked(T(2), None, 0.5, shapes={"n": Dim.DYNAMIC}).problems
    assert "`n` is of type float" in told(
        asked(T(2), None, 0.5, shapes={"n": "steps"}), "bad-structure"
    )


def test_shapes_collection() -> None:
    x, y = T(2, 3), T(4)
    shapes = ShapesCollection()
    shapes[x] = {0: Dim("batch")}
    shapes[y] = (Dim.DYNAMIC,)
    assert dims(asked(x, [y, T(1)], shapes=shapes)) == {"x": {0: BATCH}, "y_0": {0: DimSpec()}}
    assert len(shapes) == 2  # asking it about other tensors left it alone
    assert "1 tensors" in told(asked(x, [T(4)], shapes=shapes), "unknown-input")


def test_additional_inputs() -> None:
    shapes = AdditionalInputs()
    shapes.add((T(5, 3), None, 7))
    loaded = asked(T(2, 3), None, 4, shapes=shapes)
    assert dims(loaded) == {"x": {0: DimSpec()}}
    assert loaded.leaves[-1].scalar == DimSpec()
    assert asked(T(2, 3), "text", shapes=shapes).problems[0].kind == "bad-structure"


def test_torch_shapes_spec() -> None:
    batch = dynamic_spec.ShapeVar("batch", max=64)
    params = dynamic_spec.ParamsSpec(
        {
            "x": dynamic_spec.TensorSpec([batch, None]),
            "y": dynamic_spec.SeqSpec([dynamic_spec.TensorSpec([batch * 2 + 1])]),
            "n": dynamic_spec.IntVar("steps"),
        }
    )
    loaded = asked(T(2, 3), [T(5), T(6)], 9, shapes=dynamic_spec.ShapesSpec(params))
    root = DimSpec("batch", upper=64)
    assert dims(loaded) == {
        "x": {0: root},
        "y_0": {0: dataclasses.replace(root, scale=2, offset=1)},
    }
    assert loaded.leaves[-1].scalar == DimSpec("steps")
    assert dims(asked(T(2, 3), [T(5)], 9, shapes=params))["x"] == {0: root}
    assumed = dynamic_spec.ShapesSpec(params, assumptions=[batch % 2 == 0])
    assert "assumptions" in told(asked(T(2, 3), [T(5)], 9, shapes=assumed), "bad-structure")


def test_keys_may_be_the_input_names() -> None:
    loaded = asked(T(2, 3), T(4), shapes={"image": {0: "batch"}}, input_names=("image",))
    assert dims(loaded) == {"x": {0: BATCH}}
    loaded = asked(T(2), None, 3, shapes={"n": "k", "b": {0: "m"}}, input_names=("b", "count"))
    assert dims(loaded) == {"x": {0: DimSpec("m")}}


def test_parameters_before_input_names_in_dynamic_shapes_and_after_in_dynamic_axes() -> None:
    swapped = ("y", "x")
    shapes = {"x": {0: "batch"}}
    assert dims(asked(T(2), T(3), shapes=shapes, input_names=swapped)) == {"x": {0: BATCH}}
    assert dims(asked(T(2), T(3), dynamic_axes=shapes, input_names=swapped)) == {"y": {0: BATCH}}


def test_dynamic_axes() -> None:
    axes = {"image": {0: "batch", -1: "w"}, "y": [0], "out": {0: "batch"}}
    names = {"input_names": ("image",), "output_names": ("out",)}
    assert dims(asked(T(2, 3), T(4), dynamic_axes=axes, **names)) == {
        "x": {0: BATCH, 1: DimSpec("w")},
        "y": {0: DimSpec()},
    }


def test_dynamic_axes_with_an_unknown_input() -> None:
    axes = {"imput": {0: "batch"}, "y": {0: "other"}, "out": {0: "batch"}}
    names = {"input_names": ("input",), "output_names": ("out",)}
    loaded = asked(T(2, 3), T(4), dynamic_axes=axes, **names)
    text = told(loaded, "unknown-input")
    assert "`imput`" in text
    assert "`input`, `x`, `y`" in text
    assert "did you mean `input`?" in text
    assert dict(loaded.leaves[1].dims) == {0: DimSpec("other")}
    text = told(asked(T(2), dynamic_axes={"result": {0: "b"}}), "unknown-input")
    assert "output_names" in text


def test_dynamic_shapes_with_an_unknown_input() -> None:
    text = told(asked(T(2), shapes={"xx": {0: "b"}}), "unknown-input")
    assert "did you mean `x`?" in text
    taken = told(asked(T(2), shapes={"xx": {0: "b"}, "x": {0: "b"}}), "unknown-input")
    assert "did you mean" not in taken  # it has a wish already
    both = {"xx": {0: "b"}, "yy": {0: "c"}}
    problems = asked(T(2), T(3), dynamic_axes=both).problems
    helps = [each.help for each in problems if each.kind == "unknown-input"]
    assert len(helps) == len(both)
    assert all("write dynamic_axes={'x': {0: 'b'}, 'y': {0: 'c'}}" in help for help in helps)
    assert told(asked(T(2), shapes={"y": {0: "b"}}), "unknown-input")  # not in this call
    assert asked(T(2), shapes={"y": None}).problems == ()
    text = told(asked({"ids": T(2)}, shapes={"x": {"idz": {0: "b"}}}), "unknown-input")
    assert "`x` has no 'idz'" in text
    assert 'dynamic_shapes={"x": {"ids": {0: "batch"}}}' in text


def test_axes_out_of_range_show_the_shape() -> None:
    for axis in (2, -3, "0"):
        assert "[2, 3]" in told(asked(T(2, 3), shapes={"x": {axis: "b"}}), "bad-axis")
    assert "[2, 3]" in told(asked(T(2, 3), shapes={"x": ("b",)}), "bad-axis")
    assert "its size is 2, not 4" in told(asked(T(2), shapes={"x": {0: 4}}), "bad-axis")
    assert "no axis 0" in told(asked(T(()), shapes={"x": {0: "b"}}), "bad-axis")


def test_sizes_that_a_dim_cannot_have() -> None:
    batch = Dim("batch", min=4, max=8)
    assert "outside 4..8" in told(asked(T(2), shapes={"x": {0: batch}}), "bad-axis")
    assert "not 2*batch" in told(asked(T(9), shapes={"x": {0: batch * 2}}), "bad-axis")
    assert "not a dimension" in told(asked(T(2), shapes={"x": {0: 0.5}}), "bad-axis")


def test_the_good_part_is_honoured() -> None:
    loaded = asked(T(2, 3), T(4), shapes={"x": {0: "batch", 5: "h"}, "y": {0: "n"}, "z": {0: "m"}})
    assert {problem.kind for problem in loaded.problems} == {"bad-axis", "unknown-input"}
    assert [dict(leaf.dims) for leaf in loaded.leaves] == [{0: BATCH}, {0: DimSpec("n")}]


def test_one_name_is_one_size() -> None:
    loaded = asked(T(2), T(3), shapes={"x": {0: "batch"}, "y": {0: "batch"}})
    text = told(loaded, "conflicting-spec")
    assert "`batch` is 2 at axis 0 of `x` and 3 at axis 0 of `y`" in text
    assert dict(loaded.leaves[1].dims) == {0: DimSpec("batch_3")}
    shapes = {"x": {0: Dim("b", max=8)}, "y": {0: Dim("b", max=9)}}
    assert "range" in told(asked(T(2), T(2), shapes=shapes), "conflicting-spec")
    shapes = {"x": {0: "b"}, "y": {0: "2*b + 1"}}
    assert dims(asked(T(2), T(5), shapes=shapes))["y"][0].scale == 2


def test_bounds_said_once_hold_for_every_use_of_the_name() -> None:
    shapes = {"x": {0: Dim("b", max=8)}, "y": {0: "b"}}
    assert dims(asked(T(2), T(2), shapes=shapes))["y"] == {0: DimSpec("b", upper=8)}


def test_wrong_structures_show_the_right_one() -> None:
    text = told(asked([T(2), T(2, 3)], 1.5, shapes={"x": [{0: "b"}]}), "bad-structure")
    assert "x: [float32[2], float32[2, 3]], y: float" in text
    right = 'dynamic_shapes={"x": [{0: "batch"}, {0: "batch", 1: "x_1_dim_1"}], "y": None}'
    assert right in text
    again = eval(f"dict({right})")["dynamic_shapes"]
    assert dims(asked([T(2), T(2, 3)], 1.5, shapes=again)) == {
        "x_0": {0: BATCH},
        "x_1": {0: BATCH, 1: DimSpec("x_1_dim_1")},
    }


def test_the_order_of_a_dictionary_says_nothing() -> None:
    inputs = {"k": T(2), "m": T(3)}
    text = told(asked(inputs, shapes=(({0: "a"}, {0: "b"}),)), "bad-structure")
    assert "a dict of 2, but a tuple of 2 is given" in text


@pytest.mark.parametrize(
    "shapes", ["all", True, 3, {"x": "batch"}, {"x": 0.5}, ({0: "b"}, None, None)], ids=repr
)
def test_what_is_no_spec_at_all(shapes: Any) -> None:
    loaded = asked(T(2), T(2), shapes=shapes)
    assert "dynamic_shapes={" in told(loaded, "bad-structure")


def test_both_spellings_conflict() -> None:
    shapes = {"x": {0: "batch"}}
    loaded = asked(T(2), shapes=shapes, dynamic_axes={"x": {0: "other"}})
    assert told(loaded, "conflicting-spec")
    assert dict(loaded.leaves[0].dims) == {0: BATCH}
    assert asked(T(2), shapes=shapes, dynamic_axes={}).problems == ()
    assert asked(T(2), shapes={}, dynamic_axes=shapes).problems == ()


def test_input_names_are_checked() -> None:
    assert "`x`, `y`" in told(asked(T(2), T(2), 1, input_names=("a", "b", "c")), "bad-names")
    assert "`a`" in told(asked(T(2), T(2), input_names=("a", "a")), "bad-names")
    assert told(asked(T(2), input_names=("",)), "bad-names")
    assert told(asked(T(2), input_names=("a",), output_names=("a",)), "bad-names")
    loaded = asked(T(2), T(2), 1, input_names=("a", "b", "c"), shapes={"n": Dim.DYNAMIC})
    assert loaded.problems == ()
    assert [leaf.name for leaf in loaded.leaves] == ["x", "y", "n"]


def test_ordered_dictionaries_and_empty_specs() -> None:
    inputs = collections.OrderedDict(k=T(2))
    assert dims(asked(inputs, shapes={"x": {"k": {0: "b"}}})) == {"x_k": {0: DimSpec("b")}}
    assert dims(asked(T(2), None, shapes={"x": {}, "y": {}})) == {}
    assert dims(asked(T(2), shapes=())) == {}
