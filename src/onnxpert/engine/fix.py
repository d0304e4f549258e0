"""A model's own source, rewritten so that it exports without help, and proven before it is offered."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxpert.core import deadline
from onnxpert.core.errors import UsageError
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Safety, Severity, replace
from onnxpert.engine import pipeline
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.plain import (
    agree,
    catches_sometimes,
    files_run,
    outcomes,
    quiet,
    refused_by_itself,
    traced,
    values_taken,
)
from onnxpert.engine.sources import Prepared
from onnxpert.engine.trying import Job, Tried
from onnxpert.engine.unproven import reasons
from onnxpert.load.substitutes import substituted
from onnxpert.repair.codemod import Codemod
from onnxpert.repair.rewriting import (
    Contents,
    applicable,
    diff,
    narrowed,
    places,
    rewritten,
    with_others,
)
from onnxpert.repair.source import text as files
from onnxpert.report import Report

_GENERATIONS = 4
_SPARED = (
    8  # statements that are left as they are, one at a time, to see whether torch then follows
)
_MANY = 64  # draws of values, before a change is offered
# Seconds of this thread's: for the search of a change, for the export of the model as it is with which it
# begins, for one rehearsal in it, for the proof after it.
_SEARCH, _FIRST, _REHEARSAL, _PROOF = 40.0, 10.0, 15.0, 20.0
_NAN = re.compile("isnan|isfinite|isinf|nan_to_num|nanmean|nansum")
_LATE = (
    f"the search for changes was ended after {_SEARCH:.0f} s: a longer one might find a better one"
)
_UNAIDED = "no codemod makes onnxpert follow it"
_CAUGHT = "an error is caught at some values, which no file does"
_LONG = "an export takes too long"
_UNLIKE = "the model does not run as before"
_ELSE = f"{_UNLIKE}: it computes something else at other values"


@dataclass(frozen=True, slots=True)
class Fixed:
    """What came of it; `diff` is empty where nothing is offered."""

    before: Report  # of the model as it is, with the diff at each finding that it cures
    after: Report | None  # of the model as it would be
    diff: str = ""
    contents: Contents = field(default_factory=dict)
    codemods: tuple[tuple[str, str], ...] = ()  # name, and what it does
    plain: bool = False  # torch.onnx.export takes it by itself
    consented: tuple[str, ...] = ()  # codemods that change what is computed
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0 if self.diff or self.before.ok or self.plain else 1


def fix(
    source: str,
    inputs: Sequence[str] = (),
    inputs_file: str | None = None,
    *,
    evaluate: bool = False,
    consent: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Fixed:
    """The diff that makes a model exportable, proven against the model as it is.

    `consent` lets in codemods that change what is computed. Raises UsageError for a source whose
    Python is not the user's own."""
    job = Job(source, tuple(inputs), inputs_file, evaluate, options)
    with quiet():
        return _fixed(job, consent, Clock(progress))


def _fixed(job: Job, consent: bool, clock: Clock) -> Fixed:
    until = time.thread_time() + _SEARCH
    with clock.stage("read"):
        found = _own_files(job.source, job.load())
        contents = {path: files.read(path).content for path in found}
    if not contents:
        raise UsageError(
            f"{job.source} has no Python of yours that could be mended",
            "name a model in a .py file",
        )
    job = dataclasses.replace(job, nan=any(map(_NAN.search, contents.values())))
    with clock.stage("diagnose"):
        as_it_is = job.tried(contents, within=_FIRST)
        goal = _Score.of(job.load()).told(as_it_is.report)
        search = _Search(job, contents, as_it_is, goal, consent, until)
    with clock.stage("rewrite") as notes:
        sound = search.sound()
        kept = search.useful(sound)
        notes.append(", ".join(each.name for each in kept))
    with clock.stage("prove"):
        fixed = _proven(search, sound, kept)
    if as_it_is.cut and not fixed.diff:  # then the findings are all that there is to be had
        with clock.stage("diagnose"):
            whole = replace(search, as_it_is=job.tried(contents))
            fixed = replace(fixed, before=whole.before) if kept else whole.proven([])
    # What torch takes by itself has nothing left to be found.
    late = (_LATE,) if search.is_late and not fixed.plain else ()
    return replace(fixed, notes=(*fixed.notes, *late))  # type: ignore[no-any-return]


def _proven(search: _Search, sound: list[Codemod], kept: list[Codemod]) -> Fixed:
    fixed = search.proven(kept)
    if fixed.plain or kept == sound:
        return fixed
    # torch may follow a model and yet write a constant where there should be none
    if (fixed.diff or fixed.before.ok) and (search.is_late or not search.is_traced(sound)):
        return fixed
    whole = search.proven(sound)
    return whole if whole.plain or not (fixed.diff or fixed.before.ok) else fixed


@dataclass(frozen=True, slots=True, order=True)
class _Score:
    """The more the better: plain torch follows it, it runs at more sizes, little is to be said."""

    traced: bool
    runs: int  # minus the trials that it refuses
    errors: int = 0
    warnings: int = 0
    rest: int = 0

    @staticmethod
    def of(prepared: Prepared) -> _Score:
        return _Score(traced(prepared), -sum(each is None for each in outcomes(prepared)))

    def told(self, report: Report) -> _Score:
        """With what a report has to say."""
        many = Counter(finding.severity for finding in report.findings)
        told = (-many[each] for each in (Severity.ERROR, Severity.WARNING, Severity.INFO))
        return _Score(self.traced, self.runs, *told)


def _own_files(source: str, prepared: Prepared) -> Iterator[Path]:
    """The user's files that the model runs through, the named one first."""
    named = Path(source.partition(".py")[0] + ".py")
    own = (
        file
        for file in files_run(prepared)
        if os.path.isfile(file) and ownership(file) == Owner.USER
    )
    found = [*([named] if named.is_file() else []), *map(Path, own)]
    yield from dict.fromkeys(path.resolve() for path in found)


@dataclass(frozen=True, slots=True)
class _Search:
    """For the codemods with which a model computes what it did, and exports where it did not."""

    job: Job
    contents: Contents
    as_it_is: Tried
    goal: _Score  # of the model as it is
    consent: bool = False
    until: float = math.inf  # of this thread's time
    # By the texts of the files: what onnxpert had to say of those that neither it nor torch takes.
    _hopeless: dict[tuple[str, ...], Report] = field(default_factory=dict)
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
            tries = (self._without(sound, each) for each in reversed(sound) if not self.is_late)
            scored = ((rest, self._score(rest, self.goal)) for rest in tries if rest)
            sound, best = next((one for one in scored if one[1] > self.goal), ([], self.goal))
        for each in list(reversed(sound)):
            if self.is_late:
                break
            without = self._without(sound, each)
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
    def _without(chosen: Sequence[Codemod], one: Codemod) -> list[Codemod]:
        return [each for each in chosen if each is not one]

    def _taken(self, chosen: list[Codemod]) -> int:
        return values_taken(self.job.load(self.files(chosen)))

    def is_traced(self, chosen: list[Codemod]) -> bool:
        with substituted(self.files(chosen)):
            return traced(self.job.load())

    def _score(self, chosen: list[Codemod], floor: _Score) -> _Score:
        """How good the model is with these; what is below the floor in what is cheap is not diagnosed."""
        with substituted(self.files(chosen)):
            prepared = self.job.load()
            score = _Score.of(prepared)
            low = (score.traced, score.runs) < (floor.traced, floor.runs)
            if not self.before.findings or low:
                return score
            # A proof costs most of a rehearsal; without it, what only it finds would seem to be cured.
            proof = any(finding.rule.startswith("NUM") for finding in self.before.findings)
            with deadline.at_most(_REHEARSAL):
                report = pipeline.rehearse(self.job.request(prepared, verify=proof))
                cut = deadline.is_over()
            if not (report.ok or score.traced or cut):
                self._hopeless[tuple(self.files(chosen).values())] = report
            return score.told(report)

    def proven(self, kept: list[Codemod]) -> Fixed:
        if not kept:
            plain, notes = self.as_it_is.plain, (self.why_not(), *self.as_it_is.warnings())
            return Fixed(self.before, None, plain=plain, notes=notes)
        new = self.files(kept)
        hopeless = self._hopeless.get(tuple(new.values()))
        if hopeless is not None:
            return self._not_offered(kept, "", [hopeless])
        if not self._computes_the_same(kept):
            fewer = (self._without(kept, each) for each in reversed(kept))
            sound = next((each for each in fewer if each and self._computes_the_same(each)), None)
            return self.proven(sound) if sound else self._not_offered(kept, _ELSE, [])
        with deadline.at_most(max(_PROOF, _PROOF + self.until - time.thread_time())):
            tried = self.job.tried(new, self.job.request(self.job.load(self.baseline(kept))))
            cut = deadline.is_over()
        refusal = self._refusal(new)
        if refusal and self._refusal(self.contents):
            refusal = ""  # it never ran
        if cut and not (tried.proven or tried.plain):
            return self._not_offered(kept, _LONG, [])
        why = f"{_UNLIKE}: {refusal}" if refusal else self._caught(new)
        if why or not (tried.proven or tried.plain):
            ours = [each for each in (tried.report, tried.against) if each is not None]
            return self._not_offered(kept, why, ours)
        left = () if tried.report.ok else ("onnxpert still has something to say, see its findings",)
        return Fixed(
            before=self._with_diffs(tried.report, kept),
            after=tried.report,
            diff=diff(self.contents, new),
            contents=new,
            codemods=tuple((each.name, each.about.splitlines()[0]) for each in kept),
            plain=tried.plain,
            consented=tuple(each.name for each in kept if each.safety is not Safety.SAFE),
            notes=(*left, *tried.warnings()),
        )

    def _not_offered(self, kept: list[Codemod], refusal: str, ours: Sequence[Report]) -> Fixed:
        tale = reasons([each.name for each in kept], refusal, ours)
        needless = (self.why_not(),) if self.before.ok else ()
        return Fixed(self.before, ours[0] if ours else None, notes=(*needless, *tale))

    def _computes_the_same(self, kept: list[Codemod]) -> bool:
        """At many more values than those that the search asks: a run costs little beside an export."""
        texts = (self.baseline(kept), self.files(kept))
        return agree(*(self.job.outcomes(each, _MANY) for each in texts))

    def _refusal(self, contents: Contents) -> str:
        """How the model as these files have it refuses to run, with its module there to look names up."""
        with substituted(contents):
            return refused_by_itself(self.job.load())

    def _caught(self, contents: Contents) -> str:
        sometimes = catches_sometimes(self.job.load(contents), {str(path) for path in contents})
        return _CAUGHT if sometimes else ""

    def _with_diffs(self, after: Report, kept: list[Codemod]) -> Report:
        """Each finding that is gone, with the change that is meant for its rule."""
        left = {(finding.rule, finding.message) for finding in after.findings}
        changes = {
            rule: diff(self.contents, self.files([each]))
            for each in reversed(kept)
            for rule in each.cures
        }
        findings = tuple(
            replace(finding, diff=changes[finding.rule])
            if finding.rule in changes and (finding.rule, finding.message) not in left
            else finding
            for finding in self.before.findings
        )
        return replace(self.before, findings=findings)  # type: ignore[no-any-return]

    def why_not(self) -> str:
        if self.before.ok and self.goal.traced:
            return "nothing to mend: onnxpert exports the model as it is"
        if self.before.ok:
            return (
                "nothing to mend for onnxpert, which exports the model as it is; "
                "no codemod makes torch.export follow it"
            )
        if self.as_it_is.plain:
            return (
                "nothing to mend for torch.onnx.export, which takes the model as it is; " + _UNAIDED
            )
        return "no codemod helps here: see the findings for what to change by hand"


def apply(fixed: Fixed) -> tuple[Path, ...]:
    """Write the files that change, each at once, as they were in mode, encoding and line ends."""
    changed = []
    for path, content in fixed.contents.items():
        text = files.read(path)
        if text.content != content:
            files.write(text, content)
            changed.append(path)
    return tuple(changed)
