"""What every repair promises: it cures the rules it names, and the user's own model stays as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import onnxpert
from onnxpert import Safety
from onnxpert.diagnose import catalogue as rules
from onnxpert.repair import catalogue as repairs
from onnxpert.repair.repair import Repair

CURES = [
    pytest.param(repair, cured, id=f"{name}-{cured}")
    for name, repair in repairs().items()
    for cured in repair.cures
]
REPAIRS = [pytest.param(repair, id=name) for name, repair in repairs().items()]


def leaves(value: Any) -> list[Any]:
    return [x.clone() if isinstance(x, torch.Tensor) else x for x in pytree.tree_leaves(value)]


def state(model: Any) -> dict[str, Any]:
    """Everything of a model that a repair could have changed behind the user's back."""
    if not isinstance(model, nn.Module):
        return {}
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {
        **{name: tensor.detach().clone() for name, tensor in tensors.items()},
        **{f"{name}: training": module.training for name, module in model.named_modules()},
        **{f"{name}: class": type(module).__name__ for name, module in model.named_modules()},
        **{f"{name}: requires_grad": p.requires_grad for name, p in model.named_parameters()},
    }


def inputs(example: Any) -> list[Any]:
    return leaves((example.args, example.options.get("kwargs")))


def outcome(example: Any) -> list[Any]:
    """What a model answers; for one that refuses its example, the refusal."""
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            return leaves(example.model(*example.args, **example.options.get("kwargs", {})))
    except Exception as error:  # whatever the model raises is its answer
        return [type(error).__name__, re.sub(r"0x[0-9a-f]+", "0x", str(error))]


def assert_equal(seen: list[Any], expected: list[Any]) -> None:
    assert len(seen) == len(expected)
    for one, other in zip(seen, expected, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
        else:
            assert one == other


def test_there_are_repairs() -> None:
    assert repairs()


@pytest.mark.parametrize("repair", REPAIRS)
def test_a_repair_cures_rules_that_exist(repair: Repair) -> None:
    assert repair.cures
    assert set(repair.cures) <= rules().keys()


@pytest.mark.parametrize("repair", REPAIRS)
def test_a_repair_says_what_it_does(repair: Repair) -> None:
    assert repair.about
    assert repair.apply.__module__ == f"onnxpert.repair.repairs.{repair.name.replace('-', '_')}"


@pytest.mark.parametrize(("repair", "cured"), CURES)
def test_the_example_of_a_cured_rule_is_repaired(
    repair: Repair, cured: str, sample: Callable[..., Any]
) -> None:
    example = sample(rules()[cured], "Example")
    report = onnxpert.diagnose(example.model, example.args, **example.options, repair="all")
    found = [finding for finding in report.findings if finding.rule == cured]
    assert found, f"{cured} says nothing about its own example"
    by = {finding.repair for finding in found if finding.repaired}
    # A manual one is printed and never applied.
    assert by == (set() if repair.safety is Safety.MANUAL else {repair.name})


@pytest.mark.parametrize(("repair", "cured"), CURES)
def test_a_repair_leaves_the_users_model_alone(
    repair: Repair, cured: str, sample: Callable[..., Any]
) -> None:
    untouched = sample(rules()[cured], "Example")
    example = sample(rules()[cured], "Example")
    onnxpert.diagnose(example.model, example.args, **example.options, repair="all")

    before, after = state(untouched.model), state(example.model)
    assert list(after) == list(before)
    assert_equal(list(after.values()), list(before.values()))
    assert_equal(inputs(example), inputs(untouched))
    assert_equal(outcome(example), outcome(untouched))
