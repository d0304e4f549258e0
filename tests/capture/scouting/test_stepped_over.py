"""A line on which the model itself raises hides nothing of what lies behind it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import onnxpert

TABLE = {"near": 1.0, "far": 2.0}
NAMES = ["a", "b"]


class Step(nn.Module):
    def __init__(self, step: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        return self.step(self, x)


class Refuses(nn.Module):
    """Before the line, behind it in its own function, and in another layer stands what else is wrong."""

    def __init__(self, step: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.within, self.register = Step(step), nn.Buffer(torch.zeros(1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        before = torch.linalg.eigvals(x[..., :4])  # before
        h = self.within(x)
        self.register += 1  # behind
        return functional.dropout(h, 0.1) * self.register, before  # behind


def no_key(_: nn.Module, x: Tensor) -> Tensor:
    return x * TABLE["here"]


def no_place(_: nn.Module, x: Tensor) -> Tensor:
    return x + len(NAMES[5])


def no_attribute(layer: nn.Module, x: Tensor) -> Tensor:
    return x * layer.scale  # type: ignore[operator]


def no_layer(layer: nn.Module, x: Tensor) -> Tensor:
    return layer.missing(x)  # type: ignore[no-any-return, operator]


def too_many_arguments(_: nn.Module, x: Tensor) -> Tensor:
    return no_key(_, x, x)  # type: ignore[call-arg]


def no_number(_: nn.Module, x: Tensor) -> Tensor:
    return x * int("many")


def too_few_arguments(_: nn.Module, x: Tensor) -> Tensor:
    y, weights = functional.multi_head_attention_forward(x)  # type: ignore[call-arg]
    return y + weights


def too_few_parts(_: nn.Module, x: Tensor) -> Tensor:
    batch, rows, columns, depth = x.shape
    return x.reshape(batch, rows * columns * depth).view(x.shape)


def nothing_to_divide_by(_: nn.Module, x: Tensor) -> Tensor:
    return x * (1 / (x.shape[0] - 2))


def checks(_: nn.Module, x: Tensor) -> Tensor:
    if x.dim() != 4:
        raise ValueError("four dimensions")
    return x + 1


def asserts(_: nn.Module, x: Tensor) -> Tensor:
    assert x.dim() == 4, "four dimensions"
    return x + 1


def checks_values(_: nn.Module, x: Tensor) -> Tensor:
    if x.sum() > -1e9:
        raise ValueError("too large")
    return x + 1


def knows_other_kinds(_: nn.Module, x: Tensor) -> Tensor:
    kind = NAMES[0]
    if kind == "b":
        y = x * 2
    elif kind == "c":
        y = x * 3
    else:
        raise NotImplementedError(kind)
    return y + 1


def knows_others_at_the_end(_: nn.Module, x: Tensor) -> Tensor:
    if NAMES[0] == "b":
        return x * 2
    raise NotImplementedError(NAMES[0])


def matches_others(_: nn.Module, x: Tensor) -> Tensor:
    match NAMES[0]:
        case "b":
            y = x * 2
        case other:
            raise ValueError(other)
    return y


def translates_the_error(_: nn.Module, x: Tensor) -> Tensor:
    try:
        scale = TABLE["here"]
    except KeyError as error:
        raise ValueError("no such scale") from error
    return x * scale


def tries_for_ever(_: nn.Module, x: Tensor) -> Tensor:
    tries = 0
    while True:
        x = x + 1
        tries += 1
        if tries > 3:
            raise RuntimeError("it does not converge")


def inside_of_another(_: nn.Module, x: Tensor) -> Tensor:
    def scaled(y: Tensor) -> Tensor:
        return y * TABLE["here"]

    return scaled(x)


def _noted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


@_noted
def below_a_decorator(_: nn.Module, x: Tensor) -> Tensor:
    return x * TABLE["here"]


STEPS = (
    no_key, no_place, no_attribute, no_layer, too_many_arguments, too_few_arguments, no_number, too_few_parts,
    nothing_to_divide_by, checks, asserts, checks_values, knows_other_kinds,
    knows_others_at_the_end, matches_others, translates_the_error, tries_for_ever,
    inside_of_another, below_a_decorator, lambda _, x: x * TABLE["here"],
)  # fmt: skip


def _told(report: onnxpert.Report) -> set[tuple[str, str]]:
    errors = [one for one in report.findings if one.severity is onnxpert.Severity.ERROR]
    places = [(one.rule, one.location) for one in errors]
    return {
        (rule, at.code.partition("  # ")[2].partition(":")[0] if at else "") for rule, at in places
    }


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_what_lies_around_is_told(step: Callable[..., Tensor]) -> None:
    code = getattr(step, "__wrapped__", step).__code__
    report = onnxpert.diagnose(Refuses(step).eval(), (torch.randn(2, 4, 4),))
    behind = {("STA301", "behind"), ("STA311", "behind"), ("OPS501", "before")}
    told = {(rule, "" if rule == "INP112" else said) for rule, said in _told(report)}
    assert told == {("INP112", ""), *behind}
    assert getattr(step, "__wrapped__", step).__code__ is code


class Twice(nn.Module):
    def forward(self, x: Tensor, mode: int) -> Tensor:
        if mode != 1:
            raise ValueError("an unknown mode")
        assert x.shape[0] == 3, "three rows"
        return x * TABLE["here"]


def test_what_it_raises_next_is_said_as_well() -> None:
    report = onnxpert.diagnose(Twice(), (torch.randn(2, 4), 2))
    (refused,) = (one for one in report.findings if one.rule == "INP112")
    assert refused.message.endswith("an unknown mode")
    said = [note.partition(" raises as well: ")[2] for note in refused.notes]
    assert said == ["", "three rows", "KeyError: 'here'"]
