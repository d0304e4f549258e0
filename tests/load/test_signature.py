"""Which parameter a value belongs to, for every kind of model, and what does not fit."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Request
from onnxpert.load import load

T = torch.ones


class Net(nn.Module):
    def forward(self, x, y, mask=None, *, flag=False):  # type: ignore[no-untyped-def]
        return x + y


def names(model: Any, args: Any, kwargs: dict[str, Any] | None = None) -> list[str]:
    loaded = load(Request(model, args, kwargs or {}))
    assert loaded.problems == ()
    return [leaf.name for leaf in loaded.leaves]


def problem(args: Any, kwargs: dict[str, Any] | None = None) -> str:
    (found,) = load(Request(Net(), args, kwargs or {})).problems
    assert found.kind == "bad-signature"
    assert "(x, y, mask=None, *, flag=False)" in found.help
    return found.message + found.help


def test_functions_methods_and_partials() -> None:
    assert names(lambda q, k: q, (T(1), T(1))) == ["q", "k"]
    assert names(Net().forward, (T(1), T(1))) == ["x", "y"]
    net = Net()
    net.forward = functools.partial(net.forward, flag=True)
    assert names(net, (T(1),), {"y": T(2)}) == ["x", "y"]


def test_builtins_do_not_tell_their_names() -> None:
    assert names(torch.relu, (T(1),)) == ["args_0"]


def test_exported_program_and_its_own_example() -> None:
    program = torch.export.export(Net(), (T(2),), {"y": T(2)})
    assert names(program, (T(2),), {"y": T(2)}) == ["x", "y"]
    loaded = load(Request(program))
    assert [leaf.name for leaf in loaded.leaves] == ["x", "y"]
    assert list(loaded.kwargs) == ["y"]
    assert load(Request(program, (T(2),))).problems[0].kind == "bad-signature"


def test_script_modules_and_functions() -> None:
    traced = torch.jit.trace(nn.Bilinear(2, 2, 1), (T(1, 2), T(1, 2)))
    assert names(traced, (T(1, 2), T(1, 2))) == ["input1", "input2"]

    @torch.jit.script
    def scaled(x, n: int = 3):  # type: ignore[no-untyped-def]
        return x * n

    assert names(scaled, (T(1),)) == ["x"]
    assert names(scaled, (T(1), 4)) == ["x", "n"]


def test_a_lone_tensor_is_one_argument() -> None:
    loaded = load(Request(nn.Linear(2, 2), T(1, 2)))
    assert [leaf.name for leaf in loaded.leaves] == ["input"]
    assert isinstance(loaded.args, tuple)


def test_a_list_is_the_arguments_unless_only_the_list_fits() -> None:
    assert names(Net(), [T(1), T(2)]) == ["x", "y"]
    assert names(lambda xs: xs, [T(1), T(2)]) == ["xs_0", "xs_1"]


def test_a_dictionary_of_all_inputs() -> None:
    assert names(Net(), {"y": T(1), "x": T(2)}) == ["x", "y"]
    assert names(lambda batch: batch, {"y": T(1)}) == ["batch_y"]


def test_a_trailing_dictionary_is_kwargs_only_when_it_cannot_be_a_value() -> None:
    assert names(Net(), (T(1), {"k": T(2)})) == ["x", "y_k"]
    assert names(Net(), (T(1), T(2), None, {"flag": True})) == ["x", "y", "mask", "flag"]
    assert names(Net(), (T(1), {"y": T(2)}), {"flag": True}) == ["x", "y_y", "flag"]


def test_too_few_too_many_and_unknown() -> None:
    assert "no value for `y`" in problem((T(1),))
    assert "5 positional inputs given, 3 taken" in problem((T(1),) * 5)
    text = problem((T(1), T(1)), {"masc": T(1)})
    assert "no parameter `masc`" in text
    assert "did you mean `mask`" in text
    assert "`x` given twice" in problem((T(1), T(1)), {"x": T(1)})


def test_what_can_be_bound_is_still_there() -> None:
    loaded = load(Request(Net(), (T(1), T(2), None, T(4)), {"masc": T(5)}))
    assert [leaf.name for leaf in loaded.leaves] == ["x", "y", "mask", "args_0", "masc"]
    assert len(loaded.args) == 4


def test_a_pre_hook_may_complete_the_call() -> None:
    net = Net()
    net.register_forward_pre_hook(lambda module, args: (*args, T(1)))
    assert load(Request(net, (T(1),))).problems == ()


@pytest.mark.parametrize(
    ("model", "what"),
    [(Net, "the class Net itself"), (Net().state_dict(), "OrderedDict"), (3, "int"), (int, "int")],
    ids=["class", "state dict", "number", "builtin"],
)
def test_what_can_never_be_a_model(model: Any, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        load(Request(model, (T(1),)))
