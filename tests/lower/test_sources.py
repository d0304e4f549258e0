"""The walk says who said each call: a lowering of ours, torchlib's, or torch's decomposition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from onnxpert.core.types import Source
from onnxpert.lower import catalogue, torchlib
from tests.lower.same import lowered

aten = torch.ops.aten


@pytest.mark.parametrize(
    ("call", "args", "sources"),
    [
        (torch.relu, [torch.randn(3)], (("aten.relu", Source.OWN),)),
        (
            lambda x: torch.relu(torch.relu(x) * 2),  # each is named once
            [torch.randn(3)],
            (("aten.relu", Source.OWN), ("aten.mul.Tensor", Source.OWN)),
        ),
        (
            aten.huber_loss,
            [torch.randn(3), torch.randn(3)],
            (("aten.huber_loss", Source.DECOMPOSITION),),
        ),
    ],
)
def test_sources(
    call: Callable[..., Any], args: list[torch.Tensor], sources: tuple[Any, ...]
) -> None:
    assert lowered(call, args).sources == sources


def test_torchlib_is_asked_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "onnxpert.lower.catalogue",
        lambda: {key: value for key, value in catalogue().items() if key != aten.relu.default},
    )
    assert torchlib.find(aten.relu.default) is not None
    assert lowered(torch.relu, [torch.randn(3)]).sources == (("aten.relu", Source.TORCHLIB),)
