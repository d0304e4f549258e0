"""A file is read without its weights, and nothing else of it is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper

from onnxpert.verify.file import FileInput, facts, read


def make(write: Any) -> Path:
    path: Path = write(
        [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Add", ["z", "b"], ["y"])],
        {"x": (torch.float16, ["batch", 30]), "n": (torch.int64, [])},
        {"y": (torch.float16, ["batch", 30])},
        weights={"w": torch.randn(30, 30).half(), "b": torch.randn(30).half()},
        ranges={"batch": "2..64", "seq": "1.."},
    )
    return path


def test_the_interface(write: Any) -> None:
    found = facts(read(make(write)))
    assert found.inputs == (
        FileInput("x", "float16", ("batch", 30)),
        FileInput("n", "int64", ()),
    )
    assert found.outputs == ("y",)
    assert found.ranges == {"batch": (2, 64), "seq": (1, None)}


def test_large_weights_stay_in_the_file(write: Any) -> None:
    path = make(write)
    whole, light = onnx.load(path), read(path)
    assert light.ByteSize() < 1500 < whole.ByteSize()
    # Written beside the file, the light model finds all it needs in it.
    beside = path.with_name("light.onnx")
    onnx.save(light, beside)
    again = onnx.load(beside)
    for ours, theirs in zip(again.graph.initializer, whole.graph.initializer, strict=True):
        assert ours.name == theirs.name
        np.testing.assert_array_equal(
            onnx.numpy_helper.to_array(ours), onnx.numpy_helper.to_array(theirs)
        )
    for model in (again, whole):
        del model.graph.initializer[:]
    assert again == whole


def test_weights_listed_as_inputs_are_not_inputs(write: Any) -> None:
    path = make(write)
    model = onnx.load(path)
    model.graph.input.append(helper.make_tensor_value_info("w", 10, [30, 30]))
    onnx.save(model, path)
    assert [given.name for given in facts(read(path)).inputs] == ["x", "n"]


def test_a_dimension_without_a_name(write: Any) -> None:
    path = make(write)
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    onnx.save(model, path)
    assert facts(read(path)).inputs[0].dims == (None, 30)
