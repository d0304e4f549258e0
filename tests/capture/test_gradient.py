"""Gradients that a forward asks for are part of the graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.library import custom_op

import onnxpert


@custom_op("test_gradient::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return x * x


square.register_autograd(
    lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


class Forces(torch.nn.Module):
    def __init__(self, energy: Any) -> None:
        super().__init__()
        self.energy = energy

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            energy = self.energy(x).sum()
            (force,) = torch.autograd.grad(energy, x)
        return energy.detach(), -force


def test_a_force_field() -> None:
    energy = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    report = onnxpert.diagnose(
        Forces(energy).eval(), (torch.randn(4, 3),), dynamic_shapes={"x": {0: "n"}}
    )
    assert report.ok, str(report)
    assert report.strategy == "recorder with gradients"


def test_the_gradient_that_an_operator_of_the_users_registers() -> None:
    report = onnxpert.diagnose(Forces(square), (torch.randn(4, 3),))
    assert report.ok, str(report)


def test_forward_mode_and_second_derivatives() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).eval()

    def pushed(x: torch.Tensor) -> Any:
        return torch.func.jvp(net, (x,), (torch.ones_like(x),))[1]

    class Curved(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: torch.Tensor) -> Any:
            with torch.enable_grad():
                x = x.detach().requires_grad_(True)
                value = self.net(x).sum()
                (slope,) = torch.autograd.grad(value, x, create_graph=True)
                (curve,) = torch.autograd.grad(slope[:, 0].sum(), x)
            return slope, curve

    for model in (pushed, Curved()):
        report = onnxpert.diagnose(model, (torch.randn(3, 2),))
        assert report.ok, str(report)


def _slope(x: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        (slope,) = torch.autograd.grad((y**3).sum(), y)
    return slope


class Clips(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slope = _slope(x)
        if slope.max() > 1:
            slope = slope / slope.max()
        return slope


class Counts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slope = _slope(x)
        return slope * 2 if x.shape[0] > 5 else slope


class Descends(torch.nn.Module):
    """The example goes round; a recording that is below autograd must not take that for a refusal."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turns = 0
        while x.abs().max() > 0.5 and turns < 20:
            x = x - 0.1 * _slope(x)
            turns += 1
        return x


def test_branches_and_loops_around_a_gradient() -> None:
    for model, rule in ((Clips(), "CTL406"), (Counts(), "CTL406"), (Descends(), "CTL406")):
        x = torch.rand(4, 3) * 1.5
        report = onnxpert.diagnose(model, (x,), dynamic_shapes=({0: "n"},))
        assert report.ok, str(report)
        assert rule in {one.rule for one in report.findings}
