"""Options of a kind that they cannot be: one line that says so, whatever was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.core.errors import UsageError
from onnxpert.load.input_file import read_input_file

X = torch.zeros(1, 4)
WRONG: list[tuple[str, Any]] = [
    ("kwargs", [1]),
    ("kwargs", {1: 2}),
    ("custom_domains", ["my"]),
    ("examples", 5),
    ("input_names", 5),
    ("opset_version", "18"),
    ("opset_version", 18.5),
    ("opset_version", True),
    ("runtime_version", 1.17),
    ("verify", "yes"),
    ("repro", 5),
    ("f", 5),
    ("f", b"model.onnx"),
    ("f", "a\0b.onnx"),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=repr)
def test_a_wrong_kind_is_misuse(name: str, value: Any) -> None:
    with pytest.raises(UsageError) as told:
        onnxpert.diagnose(nn.Linear(4, 2).eval(), (X,), **{name: value})
    assert told.value.help
    assert len(str(told.value).splitlines()) == 2


def test_the_folder_of_reproducers_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(UsageError, match="is a file"):
        onnxpert.diagnose(nn.Linear(4, 2).eval(), (X,), repro=tmp_path / "taken")


def test_arguments_in_the_wrong_order_are_misuse() -> None:
    model: Any = nn.Linear(4, 2)
    with pytest.raises(UsageError, match="path cannot be Linear"):
        onnxpert.verify(model, "model.onnx", (X,))


def test_one_name_may_be_given_bare() -> None:
    report = onnxpert.diagnose(nn.Linear(4, 2).eval(), (X,), input_names="features")
    assert [line.partition(":")[0] for line in report.inputs] == ["features"]


def test_a_model_without_a_tensor_to_give_is_told_so() -> None:
    report = onnxpert.diagnose(lambda x: "text", (X,))
    (finding,) = report.findings
    assert finding.rule == "INP121"
    assert finding.blocks
    assert "no output" in finding.message


def test_an_array_of_words_is_no_input(tmp_path: Path) -> None:
    numpy.savez(tmp_path / "words.npz", x=numpy.array(["a"]))
    with pytest.raises(UsageError, match="cannot be read"):
        read_input_file(str(tmp_path / "words.npz"))
