"""Example inputs that the user's own Python gives: `--inputs file.py:name`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import onnxpert
from onnxpert.core.errors import UsageError
from onnxpert.engine.calibration import read_calibration
from onnxpert.engine.sources import further_examples, prepare

CODE = """
import dataclasses
import torch

@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    scale: float = 2.0

class Net(torch.nn.Module):
    def forward(self, batch, mask=None):
        assert isinstance(batch, Batch)
        return batch.x * batch.scale if mask is None else batch.x * mask

def one():
    return (Batch(torch.ones(2, 3)),)

def by_name(rows=4):
    return {"batch": Batch(torch.ones(rows, 3)), "mask": torch.zeros(rows, 3)}

nothing = None

def broken():
    raise KeyError("weights")
"""


@pytest.fixture
def code(tmp_path: Path) -> str:
    (tmp_path / "net.py").write_text(CODE, encoding="utf-8")
    return str(tmp_path / "net.py")


def test_a_function_gives_what_the_model_is_called_with(code: str) -> None:
    found = prepare(f"{code}:Net", [], f"{code}:one")
    assert onnxpert.diagnose(found.model, found.args, kwargs=found.kwargs).ok
    by_name = prepare(f"{code}:Net", [], f"{code}:by_name")
    assert list(by_name.kwargs) == ["batch", "mask"]
    assert onnxpert.diagnose(by_name.model, by_name.args, kwargs=by_name.kwargs).ok


def test_a_further_example_comes_from_code_too(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("import torch\nmore = torch.ones(5)\n", encoding="utf-8")
    ((args, kwargs),) = further_examples([f"{tmp_path / 'more.py'}:more"])
    assert torch.equal(args[0], torch.ones(5))
    assert not kwargs


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (":on", "has no `on`"),
        ("", "has no `example_inputs`"),
        (":nothing", "gives None"),
        (":broken", "calling .* failed: KeyError: 'weights'"),
    ],
)
def test_what_is_no_input_is_said(code: str, asked: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        prepare(f"{code}:Net", [], code + asked)


def test_a_file_that_is_not_there_is_said(code: str) -> None:
    with pytest.raises(UsageError, match=r"there is no file `.*other\.py`"):
        prepare(f"{code}:Net", [], code.replace("net.py", "other.py") + ":one")


def test_a_call_to_measure_comes_from_code_too(code: str) -> None:
    ((args, kwargs),) = read_calibration(f"{code}:by_name", lambda each: ((each,), {}))
    assert not args
    assert list(kwargs) == ["batch", "mask"]
