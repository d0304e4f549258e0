"""The search for the changes of a source with which its model exports, and computes what it did."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnxpert.core import deadline
from onnxpert.core.types import Safety, Severity, replace
from onnxpert.engine import pipeline
from onnxpert.engine.fixing.plain import agree, outcomes, traced, values_taken
from onnxpert.engine.fixing.trying import Job, Tried
from onnxpert.engine.sources import Prepared
from onnxpert.load.substitutes import substituted
from onnxpert.repair.codemod import Codemod
from onnxpert.repair.rewriting import (
    Contents,
    applicable,
    narrowed,
    places,
    rewritten,
    with_others,
)
from onnxpert.report import Report

_GENERATIONS = 4
_SPARED = 8  # statements that are left as they are, one at a time: does torch then follow?
_REHEARSAL = 15.0  # seconds of this thread's for one rehearsal


@dataclass(frozen=True, slots=True, order=True)
class Score:
    """The more the better: plain torch follows it, it runs at more sizes, little is to be said."""

    traced: bool
    runs: int  # minus the trials that it refuses
    errors: int = 0
    warnings: int = 0
    rest: int = 0

    @staticmethod
    def of(prepared: Prepared) -> Score:
        return Score(traced(prepared), -sum(each is None for each in outcomes(prepared)))

    def told(self, report: Report) -> Score:
        """With what a report has to say."""
        many = Counter(finding.severity for finding in report.findings)
        told = (-many[each] for each in (Severity.ERROR, Severity.WARNING, Severity.INFO))
        return Score(self.traced, self.runs, *told)


@dataclass(frozen=True, slots=True)
class Search:
    """For the codemods with which a model computes what it did, and exports where it did not."""

    job: Job
    contents: Contents
    as_it_is: Tried
    goal: Score  # of the model as it is
    consent: bool = False
    until: float = math.inf  # of this thread's time
    # By the texts of the files: what onnxpert had to say of those that neither it nor torch takes.
    hopeless: dict[tuple[str, ...], Report] = field(default_factory=dict)
    _made: dict[tuple[Any, ...], Contents] = field(default_factory=dict)

    @property
    def is_late(self) -> bool:
        return time.thread_time() > self.until

    @property
    def before(self) -> Report:
        return self.as_it_is.report

    def files(self, chosen: Sequence[Codemod]) -> Contents:
        """Those that these make of the user's. Raises whatever a broken file raises when it is run."""
        key = tuple((each.name, each.only, each.spared) for each in chosen)
        if key not in self._made:
            self._made[key] = rewritten(self.contents, chosen, self.job.look)
        return self._made[key]

    def baseline(self, chosen: Sequence[Codemod]) -> Contents:
        """What the result is compared with: the model as it is, but for what was consented to."""
        return self.files([each for each in chosen if each.safety is not Safety.SAFE])

    def sound(self) -> list[Codemod]:
        """Those with which the model computes what it did, and which cure a finding or may help torch.

        One may make room for another: what was a number is a tensor then, and a branch on it a choice."""
        found: list[Codemod] = []
        refused: list[Codemod] = []

        def alone(each: Codemod) -> bool:
            return keeps([*found, each])

        def keeps(chosen: Sequence[Codemod]) -> bool:
            if self.is_late:
                return False
            try:
                if self.files(chosen) == self.files(
                    found
                ):  # what has no work yet waits for another
                    return False
                return self._agrees(list(chosen))
            except Exception:  # it does not parse, load or run any more
                return False

        for _ in range(_GENERATIONS):
            tried = {each.name for each in (*found, *refused)}
            more = {each.name: each for each in self._applicable(found, refused)}
            new = [each for name, each in more.items() if name not in tried and self._wants(each)]
            if not new or self.is_late:
                break
            for each in new:
                if alone(each):
                    found.append(each)
                    continue
                with contextlib.suppress(Exception):  # it makes no sense of the file
                    part = narrowed(self.files(found), each, self.job.look, alone)
                    found.extend([part] if part else [])
                refused.append(each)
            found[:], refused[:] = with_others(found, refused, keeps)
        return found

    def _wants(self, each: Codemod) -> bool:
        needed = not self.as_it_is.plain or not self.before.ok or self.goal.runs < 0
        cures = any(finding.rule in each.cures for finding in self.before.findings)
        return (self.consent or each.safety is Safety.SAFE) and (needed or cures)

    def _applicable(self, found: list[Codemod], refused: list[Codemod]) -> Iterator[Codemod]:
        """What there is to change, also after changes that do not do alone."""
        for chosen in (found, [*found, *refused]) if refused else (found,):
            with contextlib.suppress(Exception):  # together they break the file
                yield from applicable(self.files(chosen), self.job.look)

    def useful(self, sound: list[Codemod]) -> list[Codemod]:
        """What is left when everything goes that changes nothing for the better."""
        best = self._score(sound, self.goal) if sound else self.goal
        if sound and not best.traced and not self.goal.traced:
            spared = self._spared(sound)
            sound, best = (spared, self._score(spared, best)) if spared else (sound, best)
        if best <= self.goal:  # one of them may be in the way of the others
            tries = (self.without(sound, each) for each in reversed(sound) if not self.is_late)
            scored = ((rest, self._score(rest, self.goal)) for rest in tries if rest)
            sound, best = next((one for one in scored if one[1] > self.goal), ([], self.goal))
        for each in list(reversed(sound)):
            if self.is_late:
                break
            without = self.without(sound, each)
            if self.files(without) == self.files(sound):  # another one has done its work
                sound = without
                continue
            # Without it more values leave their tensors: to export that may take very long, and in vain.
            if without and self._taken(without) > self._taken(sound):
                continue
            score = self._score(without, best) if without else self.goal
            if score >= best:
                sound, best = without, score
        return sound

    def _spared(self, sound: list[Codemod]) -> list[Codemod] | None:
        """The same but for one statement, where torch follows what comes of that; None: there is none."""
        tries = 0
        for at, each in enumerate(sound):
            sites = places(self.contents, each, self.job.look) if each.only is None else []
            for site in sites if len(sites) > 1 else []:
                tries += 1
                if self.is_late or tries > _SPARED:
                    return None
                one = replace(each, spared=frozenset({site}))
                fewer = [*sound[:at], one, *sound[at + 1 :]]
                with contextlib.suppress(Exception):  # it breaks the file
                    if self.is_traced(fewer) and self._agrees(fewer):
                        return fewer
        return None

    def _agrees(self, chosen: list[Codemod]) -> bool:
        new = self.job.outcomes(self.files(chosen))
        return agree(self.job.reference(self.baseline(chosen)), new)

    @staticmethod
    def without(chosen: Sequence[Codemod], one: Codemod) -> list[Codemod]:
        return [each for each in chosen if each is not one]

    def _taken(self, chosen: list[Codemod]) -> int:
        return values_taken(self.job.load(self.files(chosen)))

    def is_traced(self, chosen: list[Codemod]) -> bool:
        with substituted(self.files(chosen)):
            return traced(self.job.load())

    def _score(self, chosen: list[Codemod], floor: Score) -> Score:
        """How good the model is with these; what is below the floor in what is cheap is not diagnosed."""
        with substituted(self.files(chosen)):
            prepared = self.job.load()
            score = Score.of(prepared)
            low = (score.traced, score.runs) < (floor.traced, floor.runs)
            if not self.before.findings or low:
                return score
            # A proof costs most of a rehearsal; without it, what only it finds would seem to be cured.
            proof = any(finding.rule.startswith("NUM") for finding in self.before.findings)
            with deadline.at_most(_REHEARSAL):
                report = pipeline.rehearse(self.job.request(prepared, verify=proof))
                cut = deadline.is_over()
            if not (report.ok or score.traced or cut):
                self.hopeless[tuple(self.files(chosen).values())] = report
            return score.told(report)
