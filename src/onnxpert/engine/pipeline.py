"""The walk of one model: load, capture, diagnose, repair, lower, optimise, save, verify, report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from onnxpert.capture import capture
from onnxpert.core.types import (
    Captured,
    CaptureFailed,
    Checked,
    Crossed,
    Divergence,
    Finding,
    Loaded,
    Lowered,
    Plan,
    Request,
    Saved,
    Severity,
    Verdict,
    Verified,
    replace,
)
from onnxpert.diagnose import diagnose
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.offers import asked_for, bounds, fixed, tie, tied
from onnxpert.engine.places import place_named
from onnxpert.engine.plan import plan
from onnxpert.engine.summary import summarise
from onnxpert.load import load
from onnxpert.lower import lower
from onnxpert.optimise import forget_inner_shapes, optimise
from onnxpert.repair import choose, repair
from onnxpert.report import Action, Report
from onnxpert.save import check, discard, publish, save
from onnxpert.targets import Target, find
from onnxpert.verify import localise
from onnxpert.verify import verify as prove


@dataclass
class Walk:
    """What is known so far; the report is made of this."""

    request: Request
    target: Target
    clock: Clock
    plan: Plan
    findings: list[Finding] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    captured: Captured | CaptureFailed | None = None
    lowered: Lowered | None = None
    saved: Saved | None = None
    verified: Verified | None = None
    divergence: Divergence | None = None

    @property
    def blocked(self) -> bool:
        return any(finding.blocks for finding in self.findings)

    def learn(self, evidence: object) -> None:
        """What the rules say of a value; a thing already said is not said again."""
        for finding in diagnose(evidence):
            if finding not in self.findings:
                self.findings.append(finding)


def export(request: Request, progress: Progress | None = None) -> Report:
    """The walk with a file at its end; nothing is at `request.path` unless the report is ok."""
    if request.path is None:
        return rehearse(request, progress, Action.EXPORT)
    return _walk(request, request.path, True, progress, Action.EXPORT)


def rehearse(
    request: Request, progress: Progress | None = None, action: Action = Action.DIAGNOSE
) -> Report:
    """The same walk, its file thrown away."""
    with tempfile.TemporaryDirectory(prefix="onnxpert-") as directory:
        return _walk(request, Path(directory) / "model.onnx", False, progress, action)


def verify(request: Request, path: Path, progress: Progress | None = None) -> Report:
    """An ONNX file from anywhere against the user's model."""
    walk = _start(request, progress)
    with walk.clock.stage("load"):
        loaded = load(request)
    walk.learn(loaded)
    if not walk.blocked:
        with walk.clock.stage("verify"):
            walk.verified = prove(loaded, path, walk.target)
        walk.learn(walk.verified)
    return summarise(walk, Action.VERIFY, path)


def _start(request: Request, progress: Progress | None) -> Walk:
    target = find(request.target)
    return Walk(request, target, Clock(progress), plan(request, target))


def _walk(
    request: Request, path: Path, keep: bool, progress: Progress | None, action: Action
) -> Report:
    walk = _start(request, progress)
    walk.learn(walk.plan)
    with walk.clock.stage("load"):
        loaded: Loaded | None = load(request)
    try:
        while loaded is not None:  # again only with fewer dynamic dimensions: it ends
            loaded = _turn(walk, loaded, path)
        if walk.saved is not None and keep and not walk.blocked:
            walk.saved = publish(walk.saved, path)
            return summarise(walk, action, path)
    finally:
        if walk.saved is not None:
            discard(walk.saved)
    return summarise(walk, action, None)


def _turn(walk: Walk, loaded: Loaded, path: Path) -> Loaded | None:
    """Once from capture to proof; gives the model to try again with, if there is a better one."""
    loaded = _captured(walk, loaded)
    if isinstance(walk.captured, Captured):
        # A program brings dynamic dimensions of its own, which only its capture knows.
        loaded = walk.captured.loaded or loaded
        _lowered(walk, walk.captured)
    if walk.lowered is None or walk.blocked:
        return None
    _proven(walk, loaded, path)
    if walk.verified is None:
        return None
    narrower = _explained(walk, loaded, walk.lowered, walk.verified)
    if narrower is not None and walk.saved is not None:
        discard(walk.saved)
        walk.saved = walk.verified = None
    return narrower


def _captured(walk: Walk, loaded: Loaded) -> Loaded:
    """Capture, diagnose, repair, and again: a repair is offered at most once per finding."""
    tried: list[tuple[Finding, str]] = []
    while True:
        with walk.clock.stage("capture") as notes:
            walk.captured = capture(loaded)
            notes.append(_how(walk.captured))
        with walk.clock.stage("diagnose"):
            found = [*diagnose(loaded), *diagnose(walk.captured)]
        cure = choose(found, walk.request.repair, tried)
        if cure is None:
            walk.findings += [finding for finding in found if finding not in walk.findings]
            return loaded
        finding, chosen = cure
        tried.append((finding, chosen.name))
        with walk.clock.stage("repair") as notes:
            loaded = repair(loaded, finding, chosen)
            notes.append(chosen.name)
        walk.findings.append(replace(finding, repaired=True, repair=chosen.name))
        walk.repairs.append(f"{chosen.name}: {chosen.about.splitlines()[0]}")


def _how(captured: Captured | CaptureFailed) -> str:
    return captured.strategy if isinstance(captured, Captured) else "no strategy got it through"


def _lowered(walk: Walk, captured: Captured) -> None:
    with walk.clock.stage("lower"):
        lowered = lower(
            captured,
            opset=walk.plan.opset,
            ir_version=walk.plan.ir_version,
            input_names=walk.request.input_names,
            output_names=walk.request.output_names,
        )
    walk.learn(lowered)
    with walk.clock.stage("optimise"):
        walk.lowered = optimise(lowered)
    if not walk.blocked:
        with walk.clock.stage("check"):
            walk.learn(Checked(tuple(check(walk.lowered))))
        forget_inner_shapes(walk.lowered)


def _proven(walk: Walk, loaded: Loaded, path: Path) -> None:
    assert walk.lowered is not None
    with walk.clock.stage("save"):
        walk.saved = save(
            walk.lowered,
            path,
            external_data=walk.request.external_data,
            digest=walk.request.verify,
        )
    if not walk.request.verify:
        return
    with walk.clock.stage("verify") as notes:
        beyond = [boundary.sizes for boundary in walk.lowered.boundaries]
        walk.verified = prove(loaded, walk.saved.path, walk.target, sizes=beyond)
        notes.append(f"{len({row.case for row in walk.verified.rows})} cases")


def _explained(walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified) -> Loaded | None:
    """What the proof says, each failure by what explains it best.

    A failure beyond a boundary has a line of its own: the one that asked about the size. If nobody
    asked for that dimension to vary ("auto" offered it), it is fixed instead, and the walk repeated."""
    crossed = [
        Crossed(boundary, row, boundary.guard.expr)
        for row in verified.rows
        for boundary in lowered.boundaries
        if row.verdict is Verdict.FAIL and boundary.sizes.items() <= row.sizes.items()
    ]
    offered = [one for one in crossed if not asked_for(loaded, lowered, one.boundary)]
    if offered:
        for finding in diagnose(offered[0]):
            cure = "fix-offered-dimension"
            walk.findings.append(
                replace(finding, severity=Severity.INFO, repaired=True, repair=cure)
            )
        return fixed(loaded, lowered, offered[0].boundary)
    pair = tie(loaded, lowered, verified)
    if pair is not None:
        walk.learn(pair)
        return tied(loaded, pair)
    for one in crossed:
        walk.learn(one)
    beyond = {id(one.row) for one in crossed}
    rest = replace(verified, rows=tuple(row for row in verified.rows if id(row) not in beyond))
    if any(row.verdict is Verdict.FAIL for row in rest.rows):
        rest = replace(rest, divergence=_localised(walk, loaded, lowered, verified))
    walk.learn(replace(rest, location=place_named(lowered, verified.runtime_error)))
    if not crossed:
        for bounded in bounds(lowered):
            walk.learn(bounded)
    return None


def _localised(
    walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified
) -> Divergence | None:
    if not isinstance(walk.captured, Captured) or walk.saved is None:
        return None
    with walk.clock.stage("localise"):
        walk.divergence = localise(
            verified,
            loaded,
            captured=walk.captured,
            lowered=lowered,
            path=walk.saved.path,
            target=walk.target,
        )
    return walk.divergence
