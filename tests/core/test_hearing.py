"""Listening for calls, and the profilers of others."""

from __future__ import annotations

import cProfile
import pstats
import sys
from types import FrameType
from typing import Any

from onnxpert.core.hearing import hearing


def one() -> int:
    return 1


def two() -> int:
    return one() + 1


def names_heard(*, only_first: bool = False) -> list[str]:
    heard: list[str] = []

    def note(frame: FrameType) -> None:
        if frame.f_code.co_filename == __file__:
            heard.append(frame.f_code.co_name)
            if only_first:
                stop()

    with hearing(note) as stop:
        two()
    return heard


def test_functions_are_heard_as_they_begin() -> None:
    assert names_heard() == ["two", "one"]
    assert names_heard(only_first=True) == ["two"]


def test_pythons_own_profiler_goes_on() -> None:
    profile = cProfile.Profile()
    with profile:
        assert names_heard(only_first=True) == ["two"]
        one()
    stats: Any = pstats.Stats(profile)
    assert any(name == "one" and file == __file__ for file, _, name in stats.stats)


def test_a_profiler_of_somebody_elses_is_put_back() -> None:
    told: list[str] = []

    def profiler(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            told.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        names_heard()
        one()
    finally:
        sys.setprofile(before)
    assert told[-1] == "one"
