"""Inputs written in text: what they mean, and where they go wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from onnxpert.core.errors import UsageError
from onnxpert.core.types import DimSpec, Request
from onnxpert.load import load
from onnxpert.load.input_file import read_input_file
from onnxpert.load.input_spec import SHORT, parse


def test_named_and_positional() -> None:
    inputs = parse(["float32[batch=2,3]", "ids=int64[b=2,s=16]:0..1000", "mask=none"])
    assert inputs.args[0].shape == (2, 3)
    assert inputs.kwargs["ids"].dtype is torch.int64
    assert inputs.kwargs["mask"] is None
    assert inputs.dynamic == {0: {0: "batch"}, "ids": {0: "b", 1: "s"}}


def test_dynamic_goes_straight_into_a_request() -> None:
    inputs = parse(["f32[batch=2,3]", "mask=bool[batch=2]"])
    loaded = load(
        Request(lambda x, mask: x, inputs.args, inputs.kwargs, dynamic_shapes=inputs.dynamic)
    )
    assert loaded.problems == ()
    assert [leaf.dims for leaf in loaded.leaves] == [((0, DimSpec("batch")),)] * 2


def test_scalars() -> None:
    specs = ["n=int:-5", "s=float:0.5", "on=bool:true", "t=str:a=b", "z=float32[]"]
    inputs = parse(specs)
    assert inputs.kwargs.pop("z").shape == ()
    assert inputs.kwargs == {"n": -5, "s": 0.5, "on": True, "t": "a=b"}


@given(st.integers(-50, 50), st.integers(1, 60), st.sampled_from(["int32", "i64", "f32", "f64"]))
def test_ranges_include_their_start_and_not_their_end(low: int, width: int, dtype: str) -> None:
    value = parse([f"{dtype}[200]:{low}..{low + width}"]).args[0]
    assert value.min() >= low
    assert value.max() <= low + width - (0 if value.is_floating_point() else 1)


def test_defaults_and_dtypes() -> None:
    assert set(parse(["int64[200]"]).args[0].tolist()) <= set(range(10))
    assert set(parse(["bool[50]"]).args[0].tolist()) == {True, False}
    assert parse(["f32[1000]"]).args[0].min() < -1
    assert -1 <= parse(["f16[100]:-1..1"]).args[0].min() < 0
    assert parse(["f32[100]:1e-3..2e-3"]).args[0].max() < 3e-3
    for name, dtype in SHORT.items():
        assert parse([f"{name}[2]"]).args[0].dtype is dtype
    assert parse(["float8_e4m3fn[2]"]).args[0].dtype is torch.float8_e4m3fn


def test_the_same_values_in_every_run() -> None:
    state = torch.random.get_rng_state()
    first, second = (parse(["f32[4]", "f32[4]"]).args for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(parse(["f32[4]"], seed=1).args[0], first[0])
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    ("spec", "column", "what"),
    [
        ("x=flaot32[2]", 2, "not a dtype"),
        ("x=float32", 9, "a shape is missing"),
        ("x=float32[2,3", 13, "`,` or `]`"),
        ("x=float32[2,,3]", 12, "a size"),
        ("x=float32[h=]", 12, "a size"),
        ("x=float32[h]", 11, "`=` and a size"),
        ("x=float32[-1]", 10, "a size"),
        ("x=float32[2]]", 12, "should end here"),
        ("x=int64[2]:5", 12, "`..`"),
        ("x=int64[2]:5..5", 11, "empty"),
        ("x=int64[2]:0.5..5", 11, "whole"),
        ("x=bool[2]:0..1", 10, "no range"),
        ("n=int:five", 6, "not an int"),
        ("n=bool:maybe", 7, "not a bool"),
        ("n=number:5", 2, "neither a dtype nor int"),
        ("x=", 2, "a dtype"),
        ("", 0, "a dtype"),
    ],
)
def test_the_caret_points_at_what_is_wrong(spec: str, column: int, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([spec])
    _, shown, caret = caught.value.message.splitlines()
    assert what in caught.value.message
    assert shown == f"  {spec}"
    assert caret.index("^") - 2 == column
    (example,) = re.findall(r'"(x=[^"]+)"', caught.value.help)
    assert parse([example]).kwargs["x"].shape == (2, 3, 224, 224)


def test_inputs_given_twice_or_in_the_wrong_order() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse(["x=f32[1]", "x=f32[1]"])
    with pytest.raises(UsageError, match="without a name"):
        parse(["x=f32[1]", "f32[1]"])


def test_files_of_inputs(tmp_path: Path) -> None:
    tensors = {"x": torch.arange(6.0).reshape(2, 3), "n": torch.tensor(3)}
    numpy.savez(tmp_path / "a.npz", **{name: value.numpy() for name, value in tensors.items()})
    save_file(tensors, tmp_path / "a.safetensors")
    torch.save(tensors, tmp_path / "a.pt")
    for kind in ("npz", "safetensors", "pt"):
        found = read_input_file(str(tmp_path / f"a.{kind}"))
        assert found.keys() == tensors.keys()
        assert all(torch.equal(found[name], value) for name, value in tensors.items())


class Payload:
    """What a pickle may hold beside tensors."""


def test_files_that_cannot_be_inputs(tmp_path: Path) -> None:
    torch.save({"x": Payload()}, tmp_path / "object.pt")
    torch.save([torch.ones(1)], tmp_path / "list.pt")
    for name in ("object.pt", "list.pt", "bad.npz", "bad.safetensors", "bad.pt"):
        path = tmp_path / name
        if not path.exists():
            path.write_bytes(b"nothing of the kind")
        with pytest.raises(UsageError, match="cannot be read"):
            read_input_file(str(path))
    with pytest.raises(UsageError, match="no known kind"):
        read_input_file("x.csv")
    with pytest.raises(UsageError, match="no file") as caught:
        read_input_file(str(tmp_path / "lost.pt"))
    assert "list.pt" in caught.value.help
