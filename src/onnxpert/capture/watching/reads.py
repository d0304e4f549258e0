"""Where Python took a value out of a tensor: each line once, with what it was taken for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxpert.core.source import Owner, ownership
from onnxpert.core.statement import Statement, is_message, statement
from onnxpert.core.types import Asked, Location, Read

_ASKED = {
    Statement.IF: Asked.BRANCH,
    Statement.WHILE: Asked.LOOP,
    Statement.ASSERT: Asked.ASSERTION,
}

_WRITTEN = "onnxpert.capture.written"
_READS = frozenset({torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default})


def is_read(node: fx.Node) -> bool:
    return node.op == "call_function" and node.target in _READS


def condition(place: Location | None) -> Asked | None:
    """What a condition at a place decides; None where there is none."""
    kind = statement(place) if place is not None else None
    return _ASKED[kind] if kind is not None else None


def conditions_at(places: Iterable[Location | None]) -> tuple[Read, ...]:
    """Truth values: where no statement asks for one (`sorted`, `max`), it decides all the same."""
    known = dict.fromkeys(places)
    return tuple(Read(condition(place) or Asked.BRANCH, place) for place in known)


@contextmanager
def as_text(
    note: Callable[[Location | None], None],
    place: Callable[[], Any],
    worded: dict[str, Any],
    known: Callable[[Any], Any],
) -> Iterator[None]:
    """While on, a number of the data's that the user's own code makes a text of is noted.

    Its text is the symbol's: right for whoever reads a log, wrong for whoever computes on with it; where
    the number is known, its own."""

    def heard() -> None:
        # torch names symbols too, in messages of its own.
        if _is_users(sys._getframe(2)):
            note(place())

    def noting(plain: Callable[..., str]) -> Callable[..., str]:
        def said(symbol: Any, *rest: Any) -> str:
            text = plain(symbol, *rest)
            if not _is_of_data(symbol):
                return text
            worded[text] = symbol
            heard()
            number = known(symbol) if _is_users(sys._getframe(1)) else None
            return text if number is None else str(number)

        return said

    def formatted(symbol: Any, spec: str) -> str:
        if not _is_of_data(symbol):
            return object.__format__(symbol, spec)
        heard()
        number = known(symbol)
        return (
            str(symbol) if number is None else format(number, spec)
        )  # the former is noted with it

    def written_out(tensor: torch.Tensor, spec: str) -> str:
        # `f"{loss:.3f}"`, which a tensor answers by way of its only value.
        if not spec or tensor.dim():
            return str(torch.Tensor.__format__(tensor, spec))  # type: ignore[no-untyped-call]
        heard()
        return str(tensor)

    with ExitStack() as stack:
        stack.enter_context(patch.object(FakeTensor, "__format__", written_out))
        for kind in (torch.SymInt, torch.SymFloat):
            for name in ("__str__", "__repr__"):
                stack.enter_context(patch.object(kind, name, noting(getattr(kind, name))))
            stack.enter_context(patch.object(kind, "__format__", formatted))
        yield


def _is_users(frame: FrameType | None) -> bool:
    # What is written for the user's own lines (`"%d" % n`) asks in their name.
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_WRITTEN):
        frame = frame.f_back
    return frame is not None and ownership(frame.f_code.co_filename) == Owner.USER


def _is_of_data(symbol: Any) -> bool:
    return bool(free_unbacked_symbols(symbol.node.expr))


def texts_at(places: Iterable[Location | None]) -> tuple[Read, ...]:
    """Numbers made texts, but for those in a message of which nothing else comes."""
    return tuple(
        Read(Asked.TEXT, place)
        for place in dict.fromkeys(places)
        if place is not None and not is_message(place)
    )


def numbers_at(places: Iterable[Location | None]) -> tuple[Read, ...]:
    """Numbers; the one that a condition is about is part of the condition."""
    known = dict.fromkeys(places)
    return tuple(Read(condition(place) or Asked.NUMBER, place) for place in known)
