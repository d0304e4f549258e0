"""Operators and functions of the user's own are followed into their bodies, or said to be opaque."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.library import Library, custom_op
from torch.utils.checkpoint import checkpoint

import onnxpert
from onnxpert import Report

Tensor = torch.Tensor


@custom_op("test_custom::scale", mutates_args=())
def scale(x: Tensor, s: float) -> Tensor:
    return x * s


@custom_op("test_custom::add_to", mutates_args=("x",))
def add_to(x: Tensor, y: Tensor) -> None:
    x.add_(y)


@custom_op("test_custom::part", mutates_args=())
def part(x: Tensor, k: int, w: Tensor | None = None) -> tuple[Tensor, Tensor]:
    y = torch.nn.functional.layer_norm(x, x.shape[-1:])
    return y[..., :k].clone(), (y if w is None else y * w) + 0


@custom_op("test_custom::joined", mutates_args=())
def joined(xs: list[Tensor], dims: list[int]) -> list[Tensor]:
    return [torch.cat(xs, dim) for dim in dims]


@custom_op("test_custom::update", mutates_args=("x", "others"))
def update(x: Tensor, w: Tensor, others: list[Tensor]) -> Tensor:
    before = x.sum(0)
    x.mul_(w)
    for other in others:
        other.add_(1)
    return before


@update.register_fake
def _(x: Tensor, w: Tensor, others: list[Tensor]) -> Tensor:
    return x.new_empty(x.shape[1])


@custom_op("test_custom::in_numpy", mutates_args=())
def in_numpy(x: Tensor) -> Tensor:
    return torch.from_numpy(x.numpy() * 2)


@custom_op("test_custom::in_memory", mutates_args=())
def in_memory(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    ctypes.memmove(y.data_ptr(), x.data_ptr(), x.numel() * x.element_size())
    return y


@custom_op("test_custom::half_way", mutates_args=("x",))
def half_way(x: Tensor) -> None:
    x.add_(1)
    x.copy_(torch.from_numpy(x.numpy() * 2))


library = Library("test_custom_library", "DEF")
library.define("linear(Tensor x, Tensor w, float s=2.0) -> Tensor")
library.define("composite(Tensor x) -> Tensor")
library.define("on_cpu(Tensor x) -> (Tensor, Tensor)")
library.impl(
    "linear",
    lambda x, w, s=2.0: torch.nn.functional.linear(x, w) * s,
    "CompositeExplicitAutograd",
)
library.impl("composite", lambda x: x.cos() * 2, "CompositeImplicitAutograd")
library.impl("on_cpu", lambda x: (x.softmax(-1), x.sum()), "CPU")


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: float = 1.0) -> Tensor:
        result = x * torch.sigmoid(beta * x)
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable(result)
        assert not any(ctx.needs_input_grad)
        return result


class Cosine(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, n: int) -> tuple[Tensor, int]:
        return x.cos() * n, n

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.clamp_(min=0)


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return scale(Swish.apply(x), 3.0) + swish(x)


swish = Swish.apply


@torch.compiler.disable
def disabled(x: Tensor) -> Tensor:
    return x.sin()


def writes(x: Tensor) -> Tensor:
    y = x.clone()
    add_to(y, x[0])
    add_to(y[1], x[0])
    return y


def updates(x: Tensor) -> tuple[Tensor, ...]:
    a, b = x.clone(), x * 2
    before = update(a[1:], x[0], [b])
    return a, b, before


def dirty(x: Tensor) -> Tensor:
    y = x * 2
    Clamped.apply(y)
    return y + 1


FOLLOWED: dict[str, Callable[[Tensor], Any]] = {
    "a number": lambda x: scale(x, 3.0).relu(),
    "an option": lambda x: (*part(x, 2, x[0]), *part(x, 3)),
    "lists": lambda x: joined([x, x + 1], [0, 1]),
    "a write": writes,
    "a write and a result": updates,
    "explicit": lambda x: torch.ops.test_custom_library.linear(x, x[:2]),
    "implicit": torch.ops.test_custom_library.composite,
    "cpu": torch.ops.test_custom_library.on_cpu,
    "function": lambda x: swish(x, 2.0),
    "function with setup_context": lambda x: Cosine.apply(x, 3)[0],
    "function that writes": dirty,
    "function that gives its input": lambda x: Reversed.apply(x) + 1,
    "nested": Outer.apply,
    "disabled": lambda x: disabled(x) + 1,
    "checkpoint": lambda x: checkpoint(lambda y: y.cos(), x, use_reentrant=True),
    "other checkpoint": lambda x: checkpoint(lambda y: y.cos(), x, use_reentrant=False),
}


class Model(torch.nn.Module):
    def __init__(self, call: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> Any:
        return self.call(x)


def diagnosed(call: Callable[[Tensor], Any], **options: Any) -> Report:
    torch.manual_seed(0)
    return onnxpert.diagnose(Model(call).eval(), (torch.randn(4, 5),), **options)


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.parametrize("dynamic", [None, {"x": {0: "n"}}], ids=["static", "dynamic"])
def test_a_body_of_torch_operators_is_followed(name: str, dynamic: Any) -> None:
    report = diagnosed(FOLLOWED[name], dynamic_shapes=dynamic)
    assert report.ok, str(report)
    assert report.strategy == "recorder"


@pytest.mark.filterwarnings("ignore:.*LeafSpec")  # torch 2.13's own, while it takes apart
@pytest.mark.parametrize("decomposed", [False, True])
def test_an_operator_of_an_exported_program_is_followed_too(decomposed: bool) -> None:
    program = torch.export.export(Model(updates).eval(), (torch.randn(4, 5),))
    program = program.run_decompositions({}) if decomposed else program
    report = onnxpert.diagnose(program, (torch.randn(4, 5),))
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("op", "why"),
    [(in_numpy, "its body goes on in NumPy"), (in_memory, "its body works on raw memory")],
)
def test_a_body_that_leaves_torch_is_said_to_be_opaque(op: Any, why: str) -> None:
    report = diagnosed(lambda x: op(x) + 1)
    finding, inside = report.findings
    assert inside.severity == "info"
    assert finding.rule == "OPS503"
    assert finding.message == f"{op._opoverload} is opaque: {why}".replace(".default", "")
    assert "its body stops at" in finding.notes[0]


def test_what_an_opaque_body_did_before_it_stopped_is_forgotten() -> None:
    def call(x: Tensor) -> Tensor:
        y = x.clone()
        half_way(y)
        return y

    report = diagnosed(call)
    assert [finding.rule for finding in report.findings if finding.blocks] == ["OPS503"]
    assert report.nodes == 1  # the stub: the addition that was recorded is gone


def test_a_compiled_operator_is_opaque_and_never_given_a_fake_tensor() -> None:
    compiled = torch.ops.mkldnn._linear_pointwise.default
    report = diagnosed(lambda x: compiled(x, x, None, "relu", [], ""))
    (finding,) = report.findings
    assert finding.rule == "OPS503"
    assert finding.message == "mkldnn._linear_pointwise is opaque: it has no body in Python"


def test_two_opaque_operators_are_two_findings() -> None:
    report = diagnosed(lambda x: in_numpy(in_memory(x)))
    errors = [finding.rule for finding in report.findings if finding.blocks]
    assert errors == ["OPS503", "OPS503"]


class Placeholder(torch.autograd.Function):
    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        return g.op("my.domain::Fused", x)

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.empty_like(x).zero_()


class Copied(Placeholder):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        torch.mul(x, 2, out=out)
        return out


def test_a_placeholder_is_found_by_what_does_not_reach_its_result() -> None:
    report = diagnosed(lambda x: Placeholder.apply(x) + 1)
    assert [finding.rule for finding in report.findings] == ["OPS508"]
    assert diagnosed(lambda x: Copied.apply(x) + 1).ok


def test_the_functions_are_as_they_were_afterwards() -> None:
    before = Swish.__dict__["forward"]
    diagnosed(lambda x: swish(x, 2.0))
    assert Swish.__dict__["forward"] is before


@custom_op("test_custom::reshaped", mutates_args=())
def reshaped(x: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    array = x.numpy()
    if mode == "product":
        return torch.from_numpy(array.reshape(-1).copy()), x.clone()
    wide = array.repeat(2, 0)[:-1]  # 2 n - 1
    return torch.from_numpy(wide), torch.from_numpy(array.sum(0))


@onnxpert.lowering("test_custom::reshaped")
def reshaped_in_onnx(op: Any, x: Any, mode: str) -> Any:
    twice = op.Reshape(op.Concat(op.unsqueeze(x, 1), op.unsqueeze(x, 1), axis=1), [-1, 5])
    wide = op.Slice(twice, [0], [-1], [0])
    return wide, op.reduce("ReduceSum", x, [0], False)


def test_the_shape_of_an_opaque_result_is_learned_by_running_it() -> None:
    def call(x: Tensor) -> Any:
        wide, narrow = reshaped(x * 2, "sum")
        return wide, wide.new_ones(wide.shape[0]) + narrow.shape[0]

    report = diagnosed(call, dynamic_shapes={"x": {0: "n"}}, plugins=[reshaped_in_onnx])
    assert report.ok, str(report)


def test_a_size_that_cannot_be_learned_is_asked_for() -> None:
    report = diagnosed(lambda x: reshaped(x, "product")[0], dynamic_shapes={"x": {0: "n", 1: "m"}})
    assert [finding.rule for finding in report.findings] == ["OPS504"]
