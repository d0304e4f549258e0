"""What a forward does beside computing: seen at its line, and undone."""

from __future__ import annotations

import functools
import os
import random
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from onnxpert.capture import capture
from onnxpert.capture.watching.deeds import Deeds
from onnxpert.core.types import Captured, Deed, Done, Request
from onnxpert.load import load

CALLS = 0
LOG: list[Any] = []


class Busy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last: Any = None
        self.seen: list[Any] = []

    def forward(self, x: Tensor) -> Tensor:
        global CALLS  # noqa: PLW0603
        CALLS += 1  # global CALLS
        LOG.append(x.shape)  # global LOG
        perf_counter()  # clock
        os.environ.get("HOME")  # environment
        print("called")  # print  # noqa: T201
        self.last = x  # attribute last
        self.seen.append(x)  # attribute seen
        with open(os.devnull):  # file
            return x * random.random()  # chance


class Quiet(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clone()


def done(model: nn.Module) -> tuple[Done, ...]:
    captured = capture(load(Request(model.eval(), (torch.randn(3),))))
    assert isinstance(captured, Captured)
    return captured.done


def test_each_deed_is_seen_at_its_line() -> None:
    found = {}
    for one in done(nn.Sequential(Busy())):
        assert one.location is not None
        assert one.location.file == __file__
        assert f"# {one.deed}" in one.location.code
        found.setdefault(one.deed, set()).add(one.what)
    assert found == {
        Deed.GLOBAL: {"CALLS", "LOG"},
        Deed.CLOCK: {"time.perf_counter"},
        Deed.ENVIRONMENT: {"an environment variable"},
        Deed.PRINT: {"print"},
        Deed.ATTRIBUTE: {"0.last", "0.seen"},
        Deed.FILE: {"open"},
        Deed.CHANCE: {"random.random"},
    }


def test_the_users_own_module_is_as_it_was() -> None:
    originals = (print, open, perf_counter, random.random, nn.Module.__setattr__)
    done(nn.Sequential(Busy()))
    assert CALLS == 0
    assert LOG == []
    assert originals == (print, open, perf_counter, random.random, nn.Module.__setattr__)
    assert "__builtins__" in globals()


def test_a_quiet_model_has_done_nothing() -> None:
    assert done(Quiet()) == ()
    assert (
        done(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3, affine=False), nn.ReLU())[:1]) == ()
    )


def memoised(function: Any) -> Any:
    store: dict[int, Tensor] = {}

    @functools.wraps(function)
    def inner(self: Any, x: Tensor) -> Tensor:
        store[len(store)] = function(self, x)  # kept
        return x

    return inner


class Memoised(nn.Module):
    @memoised
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def test_what_a_closure_keeps_is_found_where_it_is_filled_and_not_where_it_begins() -> None:
    model = nn.Sequential(Memoised())
    deeds = Deeds(model)
    with deeds.watching():
        model(torch.rand(3))
    (found,) = deeds.done([])
    assert found.what == "store"
    assert found.location is not None
    assert found.location.code.endswith("# kept")
