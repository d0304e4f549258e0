"""What is told in place of a warning: each thing once, and as an error where it is one."""

from __future__ import annotations

from collections.abc import Iterable

from onnxpert.core.types import Location, Randomness, Remembered, Severity, Verified, replace
from onnxpert.engine.walk import Walk

_FURTHER = "NUM704"
_TRAINING = ("STA303", "STA311", "STA312")
_WRITES = "STA301"
_WRITTEN_DOWN = ("STA302", "STA307", _WRITES)


def say_once(walk: Walk, rule: str, at: Location | None) -> None:
    """Take back a warning of what is about to be told as an error."""
    told = (rule, _line(at))
    walk.findings = [
        each
        for each in walk.findings
        if (each.rule, _line(each.location)) != told or each.severity is Severity.ERROR
    ]


def say_what_is_kept(walk: Walk, kept: Iterable[Remembered]) -> None:
    for each in kept:
        if _line(each.location) in lines_of(walk, _WRITES, blocking=True):
            continue
        for rule in _WRITTEN_DOWN:
            say_once(walk, rule, each.location)
        walk.learn(each)


def said_of_training(walk: Walk) -> set[tuple[str, int]]:
    """The lines of which it is told why they draw: what is in training mode, or is never out of it."""
    lines = lines_of(walk, *_TRAINING)
    walk.findings = [
        each for each in walk.findings if each.rule != _FURTHER or _line(each.location) not in lines
    ]
    return lines


def say_further_chance(walk: Walk, chance: Randomness | None) -> None:
    """Of a model that no proof is run of."""
    if chance is not None:
        say_chance(walk, Verified((), nondeterministic=True, randomness=chance))


def say_chance(walk: Walk, told: Verified) -> None:
    """Where results are random the first place that draws, and each further one as much as that."""
    if not told.left_to_chance:
        walk.learn(told)
        return
    if told.randomness is not None:
        say_once(walk, _FURTHER, told.randomness.location)
    walk.learn(told)
    walk.findings = [
        replace(each, severity=Severity.ERROR)
        if each.rule == _FURTHER and each.severity is Severity.WARNING
        else each
        for each in walk.findings
    ]


def lines_of(walk: Walk, *rules: str, blocking: bool = False) -> set[tuple[str, int]]:
    """Where these rules found something, or something that blocks."""
    found = (each for each in walk.findings if each.rule in rules)
    lines = (_line(each.location) for each in found if each.blocks or not blocking)
    return {line for line in lines if line is not None}


def _line(at: Location | None) -> tuple[str, int] | None:
    return None if at is None else (at.file, at.line)
