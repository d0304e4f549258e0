"""A model's own source, rewritten so that it exports without help, and proven before it is offered."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxpert.core.errors import UsageError
from onnxpert.core.source import ownership
from onnxpert.core.types import Request, Safety, Severity, replace
from onnxpert.engine import pipeline
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.plain import (
    agree,
    files_run,
    multiples,
    open_axes,
    outcomes,
    plain_export,
    quiet,
    traced,
)
from onnxpert.engine.sources import Prepared, prepare
from onnxpert.load.substitutes import substituted
from onnxpert.repair.codemod import Codemod
from onnxpert.repair.rewriting import Contents, applicable, diff, narrowed, rewritten
from onnxpert.repair.source import text as files
from onnxpert.repair.source.watching import NOTE, Notes, Place, Seen, noting
from onnxpert.report import Report

_GENERATIONS = 3


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
        return 0 if self.diff or self.before.ok else 1


@dataclass(frozen=True)
class _Job:
    """One source with its inputs, which can be loaded as often as one likes."""

    source: str
    inputs: tuple[str, ...]
    inputs_file: str | None
    evaluate: bool
    options: Mapping[str, Any]
    # By the texts of the files: what was seen in a run, and what came out.
    _seen: dict[tuple[str, ...], Mapping[Place, list[Seen]]] = field(default_factory=dict)
    _given: dict[tuple[str, ...], Sequence[Sequence[Any] | None]] = field(default_factory=dict)

    def load(self) -> Prepared:
        prepared = prepare(self.source, self.inputs, self.inputs_file)
        if self.evaluate:
            prepared.model.eval()
        return prepared

    def afresh(self, contents: Contents) -> Prepared:
        with substituted(contents):
            return self.load()

    def reference(self, contents: Contents) -> Sequence[Sequence[Any] | None]:
        """What the model gives as these files have it."""
        key = tuple(contents.values())
        if key not in self._given:
            self._given[key] = outcomes(self.afresh(contents))
        return self._given[key]

    def request(self, prepared: Prepared, path: Path | None = None, **more: Any) -> Request:
        return Request(
            prepared.model,
            prepared.args,
            prepared.kwargs,
            path,
            dynamic_shapes=self.options.get("dynamic_shapes") or prepared.dynamic_shapes,
            repair="off",
            **{key: value for key, value in self.options.items() if key != "dynamic_shapes"},
            **more,
        )

    def look(self, contents: Contents) -> Mapping[Place, list[Seen]]:
        """Run the model, and note what every expression of its files is."""
        key = tuple(contents.values())
        if key not in self._seen:
            self._seen[key] = self._look(contents)
        return self._seen[key]

    def _look(self, contents: Contents) -> Mapping[Place, list[Seen]]:
        import builtins

        import torch

        notes = Notes()
        setattr(builtins, NOTE, notes)
        try:
            with substituted(contents, noting), quiet(), torch.no_grad():
                prepared = self.load()
                for call in multiples(prepared):
                    notes.inputs = {id(value): axes for value, axes in open_axes(prepared, call)}
                    notes.on = True
                    with contextlib.suppress(Exception):  # what ran before it raised has been noted
                        prepared.model(*call[0], **call[1])
        finally:
            notes.on = False
            delattr(builtins, NOTE)
        return notes.seen


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
    job = _Job(source, tuple(inputs), inputs_file, evaluate, options)
    with quiet():
        return _fixed(job, consent, Clock(progress))


def _fixed(job: _Job, consent: bool, clock: Clock) -> Fixed:
    with clock.stage("read"):
        found = _own_files(job.source, job.load())
        contents = {path: files.read(path).content for path in found}
        original = job.load()  # the one that ran may remember it
    if not contents:
        raise UsageError(
            f"{job.source} has no Python of yours that could be mended",
            "name a model in a .py file",
        )
    with clock.stage("diagnose"):
        before = pipeline.rehearse(job.request(original))
        goal = _Score.of(original).told(before)
    with clock.stage("rewrite") as notes:
        sound = _sound(job, contents, before, goal, consent)
        kept = _useful(job, contents, sound, before, goal)
        notes.append(", ".join(each.name for each in kept))
    if not kept:
        return Fixed(before, None, notes=_why_not(before, goal))
    with clock.stage("prove"):
        fixed = _proven(job, before, contents, kept)
        if fixed.plain or kept == sound:
            return fixed
        # torch may follow a model and yet write a constant where there should be none
        whole = _proven(job, before, contents, sound)
        return whole if whole.plain or not fixed.diff else fixed


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
        many = dict.fromkeys(Severity, 0)
        for finding in report.findings:
            many[finding.severity] -= 1
        told = (many[each] for each in (Severity.ERROR, Severity.WARNING, Severity.INFO))
        return _Score(self.traced, self.runs, *told)


def _own_files(source: str, prepared: Prepared) -> Iterator[Path]:
    """The user's files that the model runs through, the named one first."""
    named = Path(source.partition(".py")[0] + ".py")
    own = (file for file in files_run(prepared) if os.path.isfile(file) and ownership(file) == 3)
    found = [*([named] if named.is_file() else []), *map(Path, own)]
    yield from dict.fromkeys(path.resolve() for path in found)


def _sound(
    job: _Job, contents: Contents, before: Report, goal: _Score, consent: bool
) -> list[Codemod]:
    """Those with which the model computes what it did, and which cure a finding or may help torch along.

    One may make room for another: what was a number is a tensor then, and a branch on it a choice."""
    rules = {finding.rule for finding in before.findings}
    found: list[Codemod] = []
    refused: list[Codemod] = []

    def keeps(*more: Codemod) -> bool:
        try:
            new = job.afresh(rewritten(contents, [*found, *more], job.look))
            return agree(job.reference(_baseline(job, contents, [*found, *more])), outcomes(new))
        except Exception:  # it does not parse, load or run any more
            return False

    def wanted(each: Codemod) -> bool:
        needed = not goal.traced or not before.ok or goal.runs < 0
        return (consent or each.safety is Safety.SAFE) and (needed or bool(rules & {*each.cures}))

    for _ in range(_GENERATIONS):
        tried = {each.name for each in (*found, *refused)}
        more = {each.name: each for each in _applicable(job, contents, found, refused)}
        new = [each for name, each in more.items() if name not in tried and wanted(each)]
        if not new:
            break
        for each in new:
            here = rewritten(contents, found, job.look)
            sound = each if keeps(each) else narrowed(here, each, job.look, keeps)
            (found if sound else refused).append(sound or each)
        if refused and keeps(*refused):  # one that needs the other
            found, refused = [*found, *refused], []
    return found


def _applicable(
    job: _Job, contents: Contents, found: list[Codemod], refused: list[Codemod]
) -> Iterator[Codemod]:
    """What there is to change, also after changes that do not do alone."""
    for chosen in (found, [*found, *refused]) if refused else (found,):
        with contextlib.suppress(Exception):  # together they break the file
            yield from applicable(rewritten(contents, chosen, job.look), job.look)


def _useful(
    job: _Job, contents: Contents, sound: list[Codemod], before: Report, goal: _Score
) -> list[Codemod]:
    """What is left when everything goes that changes nothing for the better."""
    best = _score(job, contents, sound, before, goal) if sound else goal
    if best <= goal:
        return []
    for each in list(reversed(sound)):
        without = [other for other in sound if other is not each]
        score = _score(job, contents, without, before, best) if without else goal
        if score >= best:
            sound, best = without, score
    return sound


def _baseline(job: _Job, contents: Contents, chosen: Sequence[Codemod]) -> Contents:
    """What the result is compared with: the model as it is, but for changes that were consented to."""
    changing = [each for each in chosen if each.safety is not Safety.SAFE]
    return rewritten(contents, changing, job.look)


def _score(
    job: _Job, contents: Contents, chosen: list[Codemod], before: Report, floor: _Score
) -> _Score:
    """How good the model is with these; what is below the floor in what is cheap is not diagnosed."""
    with substituted(rewritten(contents, chosen, job.look)):
        prepared = job.load()
        score = _Score.of(prepared)
        if not before.findings or (score.traced, score.runs) < (floor.traced, floor.runs):
            return score
        # A proof costs most of a rehearsal; without it, what only it finds would seem to be cured.
        proof = any(finding.rule.startswith("NUM") for finding in before.findings)
        return score.told(pipeline.rehearse(job.request(prepared, verify=proof)))


def _proven(job: _Job, before: Report, contents: Contents, kept: list[Codemod]) -> Fixed:
    new = rewritten(contents, kept, job.look)
    asked = job.request(job.afresh(_baseline(job, contents, kept)))
    with tempfile.TemporaryDirectory(prefix="onnxpert-") as folder:
        ours, theirs = Path(folder) / "model.onnx", Path(folder) / "plain.onnx"
        with substituted(new):
            fixed = job.load()
            after = pipeline.export(job.request(fixed, ours, verify=False))
            plain = plain_export(fixed, theirs)
        plain = plain and pipeline.verify(asked, theirs).ok
        proven = after.ok and pipeline.verify(asked, ours).ok
    if not (proven or plain):
        return Fixed(
            before, after, notes=("what was tried could not be proven, so it is not offered",)
        )
    return Fixed(
        before=_with_diffs(job, before, after, contents, kept),
        after=replace(after, path=None),
        diff=diff(contents, new),
        contents=new,
        codemods=tuple((each.name, each.about.splitlines()[0]) for each in kept),
        plain=plain,
        consented=tuple(each.name for each in kept if each.safety is not Safety.SAFE),
        notes=() if after.ok else ("onnxpert still has something to say, see its findings",),
    )


def _with_diffs(
    job: _Job, before: Report, after: Report, contents: Contents, kept: list[Codemod]
) -> Report:
    """Each finding that is gone, with the change that is meant for its rule."""
    left = {(finding.rule, finding.message) for finding in after.findings}
    diffs = {each.name: diff(contents, rewritten(contents, [each], job.look)) for each in kept}
    findings = []
    for finding in before.findings:
        cures = [each for each in kept if finding.rule in each.cures]
        gone = (finding.rule, finding.message) not in left
        findings.append(replace(finding, diff=diffs[cures[0].name]) if cures and gone else finding)
    return replace(before, findings=tuple(findings))  # type: ignore[no-any-return]


def _why_not(before: Report, goal: _Score) -> tuple[str, ...]:
    if before.ok and goal.traced:
        return ("nothing to mend: the model exports as it is",)
    if before.ok:
        return ("onnxpert exports it as it is; no codemod makes torch.export follow it",)
    return ("no codemod helps here: see the findings for what to change by hand",)


def apply(fixed: Fixed) -> tuple[Path, ...]:
    """Write the files that change, each at once, as they were in mode, encoding and line ends."""
    changed = []
    for path, content in fixed.contents.items():
        text = files.read(path)
        if text.content != content:
            files.write(text, content)
            changed.append(path)
    return tuple(changed)
