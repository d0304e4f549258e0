"""Who changed a list, a dictionary or a variable: the line itself, wherever it stands."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from onnxpert.capture import capture
from onnxpert.core.types import Captured, Deed, Request
from onnxpert.load import load

LOG: dict[str, list[int]] = {"sizes": []}


def kept(fn: Any) -> Any:
    store: dict[Any, Any] = {}

    def inner(self: Any, x: Tensor) -> Any:
        if "x" not in store:
            store["x"] = fn(self, x)  # global store
        return store["x"]

    return inner


def remember(store: dict[str, Any]) -> Any:
    def hook(_: Any, given: Any) -> None:
        store["in"] = given[0]  # attribute seen

    return hook


class Busy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {}
        self.part = nn.Linear(3, 3)
        self.part.register_forward_pre_hook(remember(self.seen))

    @kept
    def table(self, x: Tensor) -> Tensor:
        return torch.ones(x.shape)

    def forward(self, x: Tensor) -> Any:
        LOG["sizes"].append(3)  # global LOG
        return self.part(x) * self.table(x)


def test_a_change_is_told_at_the_line_that_makes_it_and_leaves_no_trace() -> None:
    model = Busy().eval()
    captured = capture(load(Request(model, (torch.randn(2, 3),))))
    assert isinstance(captured, Captured)
    deeds = [done for done in captured.done if done.deed in (Deed.GLOBAL, Deed.ATTRIBUTE)]
    assert {done.what for done in deeds} == {"store", "LOG", "seen"}
    for done in deeds:
        assert done.location is not None
        assert not done.guessed
        assert f"# {done.deed} {done.what}" in done.location.code
    assert LOG == {"sizes": []}
    assert model.seen == {}
    assert type(model.table(torch.ones(2, 3))) is Tensor  # and nothing made of stand-ins
