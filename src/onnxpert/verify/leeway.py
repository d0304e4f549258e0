"""How far what decides in a model moves by itself when the last digits of its inner values are others.

Between a sum and a decision there may be a steep function: a sigmoid of large scores makes a rounding a
thousand times larger. The model is run as it is, and then with a tremor; whatever decides is put back to
what it was each time, so that both runs go the same way, and how far it had come is noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.verify.digits import deciders
from onnxpert.verify.tremor import Tremor

TURNS = 2
SLACK = 4.0  # two draws are few, and the errors of sums lean one way


class Witness(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps what decides, call by call."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[list[torch.Tensor]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        found = deciders(func, args)
        if found:
            self.calls.append([one.clone() for one in found])
        return func(*args, **(kwargs or {}))


class Leeway(Tremor):  # type: ignore[no-untyped-call]
    """The distance of each call's operands from what a witness saw, while everything is shaken."""

    def __init__(self, seed: int, calls: Sequence[Sequence[torch.Tensor]]) -> None:
        super().__init__(seed)
        self._calls = calls
        self.moved: list[float] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        found = deciders(func, args)
        if found:
            seen = self._calls[len(self.moved)]
            self.moved.append(max(_put_back(*pair) for pair in zip(found, seen, strict=True)))
        return super().__torch_dispatch__(func, types, args, kwargs)


def _put_back(moved: torch.Tensor, seen: torch.Tensor) -> float:
    finite = seen.isfinite() & moved.isfinite()
    distance = (moved - seen).abs()[finite]
    moved.copy_(seen)
    return float(distance.amax()) if distance.numel() else 0.0
