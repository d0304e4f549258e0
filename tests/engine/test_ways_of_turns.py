"""What only many turns lead to is in the file, or beyond its range: no value need show it."""

from __future__ import annotations

import math
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture.rolling.ways import Ways

_LONG = 30
_LIBRARY = """
def limited(x, count):
    if count > 20:
        x = x.clamp(max=1000.0)
    return x
"""


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(3, 3)

    def turn(self, x: Tensor, h: Tensor, t: int) -> Tensor:
        return self.step(x[:, t]) + 0.5 * h


class InATurn(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
            if t > 20:
                h = h.clamp(max=1000.0)
        return h


class ByTheLengthOfAList(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h, seen = x.new_zeros(x.shape[0], 3), []
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
            seen.append(h)
        return h.clamp(max=1000.0) if len(seen) > 20 else h


class ByWhatIsMadeOfTheSize(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
        return h.clamp(max=1000.0) if math.sqrt(x.shape[1]) > 4.5 else h


class AtSingleLengths(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
        return h.clamp(max=1000.0) if x.shape[1] in (22, _LONG) else h


class AtHalfOfThem(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
        return h.clamp(max=1000.0) if x.shape[1] // 2 in (11, _LONG // 2) else h


class ByATensorOfATruth(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
        return torch.where(torch.tensor(3 * x.shape[1] > 62), h.clamp(max=1000.0), h)


class AtTwoSizes(_Recurrent):
    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
        return h.clamp(max=1000.0) if x.shape[1] - 2 == 4 * x.shape[0] + 12 else h


def _right(model: nn.Module, path: Path, example: int = 5) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, example, 3)
    onnxpert.export(model, (x,), path, dynamic_shapes={"x": {0: "b", 1: "t"}})
    session = ort.InferenceSession(path)
    for length in (4, 20, 22, _LONG):
        x = torch.randn(2, length, 3).abs() * 1e5
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, model(x).detach().numpy(), rtol=1e-3)


@pytest.mark.parametrize("kind", [InATurn, ByTheLengthOfAList, ByWhatIsMadeOfTheSize])
def test_a_way_of_the_users(kind: type[nn.Module], tmp_path: Path) -> None:
    _right(kind().eval(), tmp_path / "m.onnx")


@pytest.mark.parametrize("kind", [AtSingleLengths, AtHalfOfThem, ByATensorOfATruth, AtTwoSizes])
@pytest.mark.parametrize("example", [5, 22])
def test_a_way_that_the_model_goes_at_single_lengths(
    kind: type[nn.Module], example: int, tmp_path: Path
) -> None:
    _right(kind().eval(), tmp_path / "m.onnx", example)


@pytest.mark.parametrize("asked", ["x.shape[1]", "t"])
def test_a_way_of_a_library(asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "site-packages"
    home.mkdir()
    (home / "limiting_library.py").write_text(_LIBRARY)
    source = f"""
        import torch
        from limiting_library import limited

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.step = torch.nn.Linear(3, 3)

            def forward(self, x):
                h = x.new_zeros(x.shape[0], 3)
                for t in range(x.shape[1]):
                    h = self.step(x[:, t]) + 0.5 * h
                    {"h = limited(h, t)" if asked == "t" else "pass"}
                return {"h" if asked == "t" else "limited(h, x.shape[1])"}
    """
    file = tmp_path / "limited_model.py"
    file.write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(home))
    module: Any = types.ModuleType("limited_model")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "limited_model", module)
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    _right(module.Model().eval(), tmp_path / "m.onnx")


class WhatNoFileSays(_Recurrent):
    """A set is nothing that a turn of a file could leave behind."""

    def forward(self, x: Tensor) -> Tensor:
        h, kinds = x.new_zeros(x.shape[0], 3), set()
        for t in range(x.shape[1]):
            h = self.turn(x, h, t)
            kinds.add(t // 10)
            if len(kinds) > 2:
                h = h.clamp(max=1000.0)
        return h


def test_what_no_file_says_is_beyond_its_range(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    torch.manual_seed(0)
    example, shapes = (torch.randn(2, 5, 3),), {"x": {0: "b", 1: "t"}}
    report = onnxpert.export(WhatNoFileSays().eval(), example, path, dynamic_shapes=shapes)
    assert "SHP203" in {finding.rule for finding in report.findings}
    told = {one.key: one.value for one in onnx.load(path).metadata_props}
    assert told["onnxpert.dim.t"] == "1..20"


def test_an_instruction_is_known_by_the_run_that_came_to_it() -> None:
    known = Ways()

    def sided(x: int) -> int:
        return x if x < 3 else -x

    def ran(ways: Ways, x: int) -> None:
        before = sys.gettrace()
        sys.settrace(ways.entered)
        try:
            sided(x)
        finally:
            sys.settrace(before)

    ran(known, 1)
    same, other = Ways(known), Ways(known)
    ran(same, 2)
    ran(other, 5)
    assert same.other is None
    assert other.other is not None
