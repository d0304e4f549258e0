"""Where a finding is: the expression, the module, the calls that led there, and how often."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

import onnxpert


class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x + 1; return torch.linalg.eigvals(x).real + y  # noqa: E702  # fmt: skip


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))

    def one(self, layer: nn.Module, x: Tensor) -> Any:
        return layer(x)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x * self.one(layer, x)[:, None]
        return x


def only(report: onnxpert.Report, rule: str) -> onnxpert.Finding:
    (found,) = [finding for finding in report.findings if finding.rule == rule]
    return found


def test_the_same_in_each_layer_is_one_finding_with_all_paths() -> None:
    found = only(onnxpert.diagnose(Stack().eval(), (torch.randn(3, 3),)), "OPS501")
    assert found.count == 3
    assert found.modules == ("layers.0", "layers.1", "layers.2")


def test_the_columns_are_those_of_the_expression() -> None:
    found = only(onnxpert.diagnose(Stack().eval(), (torch.randn(3, 3),)), "OPS501")
    place = found.location
    assert place is not None
    with open(place.file, encoding="utf-8") as source:
        line = source.read().splitlines()[place.line - 1]
    assert line[place.column - 1 : place.end_column - 1] == "torch.linalg.eigvals(x)"


def test_the_stack_is_the_users_own_calls() -> None:
    found = only(onnxpert.diagnose(Stack().eval(), (torch.randn(3, 3),)), "OPS501")
    assert [(call.function, call.code) for call in found.stack] == [
        ("forward", "x = x * self.one(layer, x)[:, None]"),
        ("one", "return layer(x)"),
    ]


def logged(function: Any) -> Any:
    def inner(self: Any, *args: Any) -> Any:
        return function(self, *args)

    return inner


class Decorated(nn.Module):
    @logged
    def forward(self, x: Tensor, word: str) -> Tensor:  # forward
        return x * len(word)


def test_the_place_of_a_forward_is_its_own_below_a_decorator() -> None:
    found = only(onnxpert.diagnose(Decorated().eval(), (torch.ones(3), "abc")), "INP116")
    assert found.location is not None
    assert found.location.code.endswith("# forward")


class Compiled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.compile(nn.Linear(2, 2))
        self.gates = nn.Sequential(torch.jit.script(nn.Linear(2, 2)), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        y = self.gates(x)
        return self.body(y)


def test_a_part_that_is_compiled_or_scripted_is_told_where_it_is_called() -> None:
    with warnings.catch_warnings(action="ignore"):
        report = onnxpert.diagnose(Compiled().eval(), (torch.ones(2),))
    told = {one.rule: one.location.code for one in report.findings if one.location is not None}
    assert told == {"CAP006": "y = self.gates(x)", "CAP007": "return self.body(y)"}
