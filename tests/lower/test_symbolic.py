"""`symbolic` methods of the old exporter's, where the body itself is no help."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import onnxpert

Tensor = torch.Tensor


class OldAxes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy()).sum(1)

    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        total = g.op("ReduceSum", x, axes_i=[x.type().dim() - 1], keepdims_i=1)
        return g.op("Squeeze", total, axes_i=[1])


class Best(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
        values, indices = torch.from_numpy(x.numpy()).topk(k)
        return values, indices

    @staticmethod
    def symbolic(g: Any, x: Any, k: int) -> Any:
        return g.op("TopK", x, g.op("Constant", value_t=torch.tensor([k])), outputs=2)


class Eigen(torch.autograd.Function):
    """The body can be followed, and one of its operators has no lowering."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.linalg.eigvals(x @ x.mT).real.abs().sum() * 0 + x

    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        return g.op("Identity", x)


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        return torch.from_numpy(x.numpy()).where(x > 0, x * slope)

    @staticmethod
    def symbolic(g: Any, x: Any, slope: float) -> Any:
        return g.op("LeakyRelu", x, alpha_f=slope)


class Agreeing(torch.autograd.Function):
    """The body is the truth: what the symbolic says is not asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 3

    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        raise AssertionError


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy() * 3)

    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        return g.op("Add", x, x)


class Graphic(Wrong):
    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        return g.addOutput(x)


class Foreign(Wrong):
    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        return g.op("com.example::Foo", x, alpha_f=1.0, name_s="a", sizes_i=[1, 2])


class Model(torch.nn.Module):
    def __init__(self, call: Any) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> Any:
        return self.call(x)


def diagnosed(call: Any, **options: Any) -> onnxpert.Report:
    torch.manual_seed(0)
    return onnxpert.diagnose(Model(call).eval(), (torch.randn(4, 4),), **options)


@pytest.mark.parametrize(
    "call",
    [
        OldAxes.apply,
        lambda x: Best.apply(x, 2),
        Eigen.apply,
        lambda x: Leaky.apply(x, 0.1),
        Agreeing.apply,
    ],
    ids=["attributes that are inputs now", "several results", "stuck body", "number", "body"],
)
def test_a_symbolic_is_understood(call: Any) -> None:
    report = diagnosed(call)
    assert report.ok, str(report)
    assert report.findings == ()


@pytest.mark.parametrize(("function", "rule"), [(Wrong, "NUM701"), (Graphic, "OPS509")])
def test_a_symbolic_is_not_trusted(function: Any, rule: str) -> None:
    report = diagnosed(function.apply)
    assert [finding.rule for finding in report.findings] == [rule]


def test_a_symbolic_of_a_custom_domain_needs_kernels() -> None:
    report = diagnosed(Foreign.apply)
    (finding,) = report.findings
    assert finding.rule == "OPS507"
    assert "com.example::Foo" in finding.message


@torch.library.custom_op("test_symbolic::tripled", mutates_args=())
def tripled(x: Tensor, by: float) -> Tensor:
    return torch.from_numpy(x.numpy() * by)


def test_a_registered_symbolic_is_found() -> None:
    from torch.onnx import (
        register_custom_op_symbolic,
        symbolic_helper,
        unregister_custom_op_symbolic,
    )

    @symbolic_helper.parse_args("v", "f")
    def symbolic(g: Any, x: Any, by: float) -> Any:
        return g.op("Mul", x, g.op("Constant", value_t=torch.tensor(by)))

    register_custom_op_symbolic("test_symbolic::tripled", symbolic, 9)
    try:
        report = diagnosed(lambda x: tripled(x, 3.0))
    finally:
        unregister_custom_op_symbolic("test_symbolic::tripled", 9)
    assert report.ok, str(report)
    found = diagnosed(lambda x: tripled(x, 3.0)).findings
    assert [f.rule for f in found if f.blocks] == ["OPS503"]
