"""The side of a branch that the example does not take, at sizes that it does not have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor

import onnxpert
from onnxpert.core.types import Severity


class Blocks(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        total = x * 0
        for start in range(0, x.shape[0], 4):
            total = total + x[start : start + 4].sum()
        return total


class Counts(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return x - sum(1 for _ in range(x.shape[0]))


class Rows(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return torch.cat([row.unsqueeze(0) * index for index, row in enumerate(x)])


class Parts(torch.nn.Module):
    """At the example's size, both sides give the same."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return x * len(list(x.split(3)))


class Halves(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * 2
        return torch.cat([part.max() + part for part in x.chunk(2)])


@pytest.mark.parametrize("sign", [1, -1], ids=["other side", "own side"])
@pytest.mark.parametrize("kind", [Blocks, Counts, Rows, Parts, Halves])
def test_it_is_right_there_too(kind: type[torch.nn.Module], sign: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "m.onnx"
    report = onnxpert.export(
        model, (torch.rand(6, 3) * sign,), path, dynamic_shapes={"x": {0: "n"}}
    )
    assert not [each.rule for each in report.findings if each.severity is Severity.WARNING]
    session = ort.InferenceSession(path)
    for size in (1, 2, 5, 7, 9, 20):
        for side in (1, -1):
            x = torch.rand(size, 3) * side
            (got,) = session.run(None, {"x": x.numpy()})
            np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


def test_the_proof_takes_every_side_at_another_size(tmp_path: Path) -> None:
    report = onnxpert.export(
        Counts().eval(), (torch.rand(6, 3),), tmp_path / "m.onnx", dynamic_shapes={"x": {0: "n"}}
    )
    assert {"example, n=19", "values negated, n=19"} <= {row.case for row in report.verified}


def test_a_range_that_only_the_file_has_is_a_warning(tmp_path: Path) -> None:
    """Without its source a model cannot be written as it stands."""
    source = (
        "class Parts(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        if x.sum() > 0:\n"
        "            return x * 2\n"
        "        return x * len(list(x.split(3)))\n"
    )
    names: dict[str, type[torch.nn.Module]] = {}
    exec(source, {"torch": torch, "__name__": "nowhere"}, names)
    report = onnxpert.export(
        names["Parts"]().eval(),
        (torch.rand(6, 3),),
        tmp_path / "m.onnx",
        dynamic_shapes={"x": {0: "n"}},
    )
    told = {each.rule: each for each in report.findings if each.severity is Severity.WARNING}
    assert "the file takes n of at least 4 and at most 6 only" in told["SHP203"].message
