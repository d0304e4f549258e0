"""Traces of one program that differ in how often its loops turned, folded to one structure.

A trace is a sequence of tokens (what was called, from which line). Two traces of a loop are
`prefix + k * body + suffix` with two different k: where the shorter goes on with the suffix, the
longer repeats what it has just done. That place gives the body; folding every run of it makes the
traces alike there, and the next difference is another loop, or one around it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_MOST_LOOPS = 64


@dataclass(frozen=True, slots=True)
class Turns:
    """A loop in one trace: what each of its turns consists of."""

    turns: tuple[Structure, ...]


# Positions in a trace, in order; a loop stands for all the positions of its turns.
Structure: TypeAlias = "tuple[int | Turns, ...]"


@dataclass(frozen=True, slots=True)
class _Item:
    token: Hashable
    element: int | Turns


@dataclass(frozen=True, slots=True)
class _Body:
    """The token of a folded loop: two loops are alike when what they repeat is."""

    tokens: tuple[Hashable, ...]


def align(traces: Sequence[Sequence[Hashable]]) -> tuple[Structure, ...] | None:
    """One structure per trace, alike in everything but the number of turns; None if there is none."""
    folded = [[_Item(token, at) for at, token in enumerate(trace)] for trace in traces]
    for _ in range(_MOST_LOOPS):
        short, *_, long = sorted(folded, key=len)
        other = next((items for items in folded if _tokens(items) != _tokens(long)), None)
        if other is None:
            return tuple(tuple(item.element for item in items) for items in folded)
        body = _repeated(_tokens(short if len(short) < len(long) else other), _tokens(long))
        if body is None:
            return None
        folded = [_fold(items, body) for items in folded]
    return None


def _tokens(items: Sequence[_Item]) -> list[Hashable]:
    return [item.token for item in items]


def _repeated(short: Sequence[Hashable], long: Sequence[Hashable]) -> tuple[Hashable, ...] | None:
    """What `long` does once more where `short` goes on to something else."""
    at = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b),
        min(len(short), len(long)),
    )
    for period in range(1, min(at, len(long) - at) + 1):
        body = long[at - period : at]
        if long[at - 1] != long[at + period - 1] or body != long[at : at + period]:
            continue
        end = at + period
        while long[end : end + period] == body:
            end += period
        # The shorter one must go on where the longer one does after some of these turns.
        rest = [
            k for k in range(at + period, end + 1, period) if long[k : k + 1] == short[at : at + 1]
        ]
        if rest:
            return tuple(_from_start(long, at, period))
    return None


def _from_start(long: Sequence[Hashable], at: int, period: int) -> Sequence[Hashable]:
    """The same body, cut where the first turn begins."""
    start = at - period
    while start > 0 and long[start - 1] == long[start - 1 + period]:
        start -= 1
    return long[start : start + period]


def _fold(items: Sequence[_Item], body: tuple[Hashable, ...]) -> list[_Item]:
    """Every run of at least two bodies as one item."""
    tokens, period = _tokens(items), len(body)
    result: list[_Item] = []
    at = 0
    while at < len(items):
        end = at
        while tuple(tokens[end : end + period]) == body:
            end += period
        if end - at < 2 * period:
            result.append(items[at])
            at += 1
            continue
        starts = range(at, end, period)
        turns = tuple(tuple(i.element for i in items[s : s + period]) for s in starts)
        result.append(_Item(_Body(body), Turns(turns)))
        at = end
    return result
