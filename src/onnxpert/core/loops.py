"""The counted loop: what a capture writes where Python turned a known number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class CountedLoop:
    """An operator of our own in a captured graph, which can also be run."""

    __name__ = "counted_loop"

    def __repr__(self) -> str:
        return f"onnxpert.{self.__name__}"

    def __call__(
        self,
        body: Callable[..., Sequence[Any]],
        count: int,
        carried: Sequence[Any],
        others: Sequence[Any],
    ) -> list[Any]:
        """`count` turns of `body(turn, *carried, *others)`, which gives what it carries on and then
        what it leaves behind; gives the last of the former, and all of the latter stacked."""
        import torch

        state, left = list(carried), []
        for turn in range(count):
            results = list(body(turn, *state, *others))
            state = results[: len(carried)]
            left.append(results[len(carried) :])
        return [*state, *(torch.stack(pieces) for pieces in zip(*left, strict=True))]


counted_loop = CountedLoop()
