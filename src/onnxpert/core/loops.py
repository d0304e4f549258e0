"""Loops of our own: what a capture writes where Python turned a known number of times, or until."""

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


class StoppedLoop:
    """The same where a turn says whether there is another one."""

    __name__ = "stopped_loop"

    def __repr__(self) -> str:
        return f"onnxpert.{self.__name__}"

    def __call__(
        self,
        body: Callable[..., Sequence[Any]],
        go: Any,
        carried: Sequence[Any],
        others: Sequence[Any],
    ) -> list[Any]:
        """Turns of `body(turn, *carried, *others)`, which gives whether to go on, what it carries on
        and what it leaves behind; gives the number of turns, and then what a counted loop gives."""
        import torch

        state: list[Any] = list(carried)
        left: list[list[Any]] = []
        while bool(go):
            go, *results = body(len(left), *state, *others)
            state = results[: len(carried)]
            left.append(results[len(carried) :])
        return [
            torch.tensor(len(left)),
            *state,
            *(torch.stack(pieces) for pieces in zip(*left, strict=True)),
        ]


stopped_loop = StoppedLoop()
