"""Traces at several lengths folded to one structure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from onnxpert.capture.rolling.alignment import Structure, Turns, align


def shown(structure: Structure, trace: str) -> str:
    """The structure with its tokens: `p(ab)s` for however many turns of `ab`."""
    parts = []
    for part in structure:
        if isinstance(part, Turns):
            turns = {shown(turn, trace) for turn in part.turns}
            assert len(turns) == 1
            parts.append(f"({turns.pop()})")
        else:
            parts.append(trace[part])
    return "".join(parts)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (lambda n: "p" + "ab" * n + "s", "p(ab)s"),
        (lambda n: "ab" * n, "(ab)"),
        (lambda n: "p" + "aab" * n + "s", "p(aab)s"),
        (lambda n: "p" + "ab" * (n - 1) + "as", "p(ab)as"),
        (lambda n: "p" + "abc" * n + "m" + "de" * n + "s", "p(abc)m(de)s"),
        (lambda n: "p" + ("x" + "ab" * n + "y") * n + "s", "p(x(ab)y)s"),
        (lambda n: ("x" + "c" * n) * 3 + "z", "x(c)x(c)x(c)z"),
        (lambda n: "p" + "a" * ((n + 1) // 2) + "s", "p(a)s"),
    ],
)
def test_loops_are_found(at: Callable[[int], str], expected: str) -> None:
    traces = [at(n) for n in (6, 7, 9)]
    structures = align(traces)
    assert structures is not None
    assert [shown(*both) for both in zip(structures, traces, strict=True)] == [expected] * 3


def test_a_straight_program_is_its_own_structure() -> None:
    assert align(["abc", "abc"]) == ((0, 1, 2), (0, 1, 2))


@pytest.mark.parametrize("traces", [("abc", "abd"), ("ab", "abab" + "c"), ("pxs", "pyys")])
def test_different_programs_have_none(traces: tuple[str, str]) -> None:
    assert align(traces) is None
