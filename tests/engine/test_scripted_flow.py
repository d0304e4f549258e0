"""TorchScript that branches and loops: read node by node, with both sides and every length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Sides(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x - 1
        if bool(x.sum() > 0):
            y = x * 2
        return y


class Returns(nn.Module):
    def forward(self, x: Tensor, always: bool = False) -> Tensor:
        if float(x.mean()) > 0.5:
            return x.relu()
        if always:
            return x
        return x.sigmoid()


class CallsTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Returns()

    def forward(self, x: Tensor) -> Tensor:
        return self.part(self.part(x), True) + 1


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while bool(x.sum() > 1):
            x = x / 3 if bool(x[0].sum() > 3) else x / 2
        return x


class Best(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        best = x[0]
        for i in range(1, 4):
            if bool(x[i].norm() > best.norm()) and bool(x[i].sum() > 0):
                best = x[i]
        return best


class Holds(nn.Module):
    """Python around a script."""

    def __init__(self) -> None:
        super().__init__()
        self.part = torch.jit.script(Returns())

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x * 2
        return self.part(x)  # type: ignore[no-any-return]


def assert_same(path: Path, model: Callable[[Tensor], Tensor], inputs: Sequence[Tensor]) -> None:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for x in inputs:
        (result,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(result, model(x.clone()).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("kind", [Sides, CallsTwice, Halves, Best, Holds])
def test_a_scripted_branch_has_both_sides(kind: type[nn.Module], tmp_path: Path) -> None:
    model = kind().eval() if kind is Holds else torch.jit.script(kind().eval())
    x = torch.linspace(0.1, 1, 12).reshape(4, 3)
    report = onnxpert.export(model, (x,), tmp_path / "model.onnx")
    assert report.ok
    turned = x.roll(5).reshape(4, 3)
    assert_same(tmp_path / "model.onnx", model, [x, -x, 20 * x, turned - 0.5, 3 * turned - 1])


class Steps(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        outs: list[Tensor] = []
        h = torch.zeros(3)
        for t in range(x.size(0)):
            h = torch.tanh(h + x[t])
            if bool(h.sum() > 0):
                h = h * 0.5
            outs.append(h)
        return torch.stack(outs)


class BySize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 3:
            return x * 2
        return x + 1


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("kind", [Steps, BySize])
def test_a_script_is_right_at_every_length(kind: type[nn.Module], tmp_path: Path) -> None:
    model = torch.jit.script(kind().eval())
    torch.manual_seed(0)
    path = tmp_path / "model.onnx"
    report = onnxpert.export(model, (torch.randn(5, 3),), path, dynamic_shapes={"x": {0: "n"}})
    assert report.ok
    assert_same(path, model, [torch.randn(n, 3) for n in (1, 2, 3, 4, 9)])


@torch.jit.script
def waves(x: Tensor, turns: int, scale: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    for turn in range(turns):
        if turn % 2 == 0:
            out = out + torch.sin(x * float(turn))
        out = out - x * scale
    return out


class CallsAFunction(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return waves(x, x.shape[0] + 2, x.mean())  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_scripted_function_is_read_as_its_python(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, dynamic = tmp_path / "model.onnx", {"x": {0: "n"}}
    plain = vars(torch.jit.ScriptFunction)["__call__"]
    model = CallsAFunction().eval()
    report = onnxpert.export(model, (torch.randn(3, 2),), path, dynamic_shapes=dynamic)
    assert {finding.rule for finding in report.findings} == {"CTL406", "CTL412"}
    assert_same(path, model, [torch.randn(n, 2) for n in (1, 3, 6)])
    assert vars(torch.jit.ScriptFunction)["__call__"] is plain
