"""What the rest of a run depends on, read off its frames."""

from __future__ import annotations

import sys
from typing import Any

from onnxpert.capture.forking.continuation import in_while, live


def here(depth: int = 1) -> frozenset[str]:
    frame = sys._getframe(depth)
    return live(frame.f_code, frame.f_lasti)


def ask() -> tuple[frozenset[str], bool]:
    return here(2), in_while(sys._getframe(1))


def test_what_is_read_again_before_it_is_set_is_live() -> None:
    def run(a: int, b: int, c: int) -> Any:
        found = here(), a  # b is set before it is read, c is read
        b = c
        return found, b

    (names, _), _ = run(1, 2, 3)
    assert names == {"c", "a"}


def test_a_variable_of_one_side_is_dead_after_it() -> None:
    def run(x: int) -> frozenset[str]:
        if x > 0:
            scale = x * 2
            x = scale
        found = here()
        return found if x else frozenset()

    assert run(1) == {"x"}


def test_a_for_counts_with_its_target_and_a_while_with_nothing() -> None:
    def run() -> list[tuple[frozenset[str], bool]]:
        found = []
        for _step in range(1):
            found += [ask()]
        while len(found) < 2:
            found += [ask()]
        for _again in range(1):
            while len(found) < 3:
                found += [ask()]
        return found

    in_for, in_loop, nested = run()
    assert "_step" in in_for[0]
    assert not in_for[1]
    assert not in_loop[0]  # the list is on the stack already
    assert in_loop[1]
    assert "_again" in nested[0]
    assert nested[1]


def test_an_exception_may_lead_to_its_handler() -> None:
    def run(fallback: int) -> Any:
        try:
            found = here()
        except ValueError:
            return fallback
        return found

    assert "fallback" in run(1)


def test_the_second_half_of_an_and_may_be_read() -> None:
    def run(first: int, second: int) -> Any:
        found = here()
        both = first and second
        return found, both

    assert run(1, 2)[0] == {"first", "second"}
