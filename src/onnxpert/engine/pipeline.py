"""The walk of one model: load, capture, diagnose, repair, lower, optimise, save, verify, report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from onnxpert.capture import capture, refusal
from onnxpert.core.types import (
    Captured,
    CaptureFailed,
    Checked,
    Crossed,
    Deed,
    Divergence,
    Finding,
    Loaded,
    Location,
    Lowered,
    Plan,
    Randomness,
    Request,
    Saved,
    Severity,
    Verdict,
    Verified,
    replace,
)
from onnxpert.diagnose import catalogue as rules
from onnxpert.diagnose import diagnose
from onnxpert.engine.behind import behind
from onnxpert.engine.chance import condoned, randomness
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.foreign import foreign, stuck_functions, valueless
from onnxpert.engine.installation import misfits
from onnxpert.engine.offers import asked_for, bounds, crossings, narrowed, tie, tied
from onnxpert.engine.picture import drawn, read
from onnxpert.engine.places import place_named
from onnxpert.engine.plan import plan
from onnxpert.engine.plugins import Plugins, gathered
from onnxpert.engine.precision import converted
from onnxpert.engine.repro import reproduce
from onnxpert.engine.summary import summarise
from onnxpert.engine.withdrawals import after_capture, after_proof, after_refusal, without
from onnxpert.load import load
from onnxpert.lower import lower
from onnxpert.optimise import forget_inner_shapes, optimise
from onnxpert.repair import choose, repair
from onnxpert.report import Action, Report
from onnxpert.report.graph import Graph
from onnxpert.save import check, discard, publish, save
from onnxpert.targets import Target, find
from onnxpert.targets.kernels import installed
from onnxpert.verify import localise
from onnxpert.verify import verify as prove

_OF_A_GRAPH = (Captured, Lowered, Checked, Verified, Crossed)
_TRAINING = ("STA303", "STA312")  # which says why the results are random


@dataclass
class Walk:
    """What is known so far; the report is made of this."""

    request: Request
    target: Target
    clock: Clock
    plan: Plan
    plugins: Plugins
    findings: list[Finding] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    captured: Captured | CaptureFailed | None = None
    lowered: Lowered | None = None
    saved: Saved | None = None
    verified: Verified | None = None
    divergence: Divergence | None = None
    graph: Graph | None = None

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
        walk.graph = read(path) if not walk.verified.runtime_error else None
    return summarise(walk, Action.VERIFY, path)


def _start(request: Request, progress: Progress | None) -> Walk:
    target = find(request.target).with_kernels(request.kernel_library)
    return Walk(request, target, Clock(progress), plan(request, target), gathered(request))


def _walk(
    request: Request, path: Path, keep: bool, progress: Progress | None, action: Action
) -> Report:
    walk = _start(request, progress)
    walk.learn(walk.plan)
    for misfit in misfits():
        walk.learn(misfit)
    walk.learn(request)
    with walk.clock.stage("load"):
        loaded: Loaded | None = replace(load(request), whole=walk.plugins.whole)
    try:
        # Again only with fewer dynamic dimensions, or fewer bodies to follow: it ends.
        while loaded is not None:
            loaded = _turn(walk, loaded, path) or _with_less_offered(walk)
            loaded = loaded or _with_constants(walk)
        if walk.saved is not None and keep and not walk.blocked:
            walk.saved = publish(walk.saved, path)
            return summarise(walk, action, path)
    finally:
        if walk.saved is not None:
            discard(walk.saved)
    if request.repro is not None and walk.blocked:
        with walk.clock.stage("repro") as notes:
            notes.append(f"{len(reproduce(walk, request.repro)) // 2} scripts")
    return summarise(walk, action, None)


def _turn(walk: Walk, loaded: Loaded, path: Path) -> Loaded | None:
    """Once from capture to proof; gives the model to try again with, if there is a better one."""
    loaded = _captured(walk, loaded)
    if isinstance(walk.captured, Captured):
        # A program brings dynamic dimensions of its own, which only its capture knows.
        loaded = walk.captured.loaded or loaded
        again = _lowered(walk, walk.captured, loaded)
        if again is not None:
            return again
    if walk.lowered is None or walk.blocked:
        chance = _randomness(walk)
        said = {finding.location for finding in walk.findings if finding.rule in _TRAINING}
        if (
            chance is not None and chance.location not in said
        ):  # as the proof would have, had it come
            walk.learn(Verified((), nondeterministic=True, randomness=chance))
        return None
    _proven(walk, loaded, path)
    if walk.verified is None:
        return None
    narrower = _explained(walk, loaded, walk.lowered, walk.verified)
    if narrower is not None and walk.saved is not None:
        discard(walk.saved)
        walk.saved = walk.verified = None
    return narrower


def _with_less_offered(walk: Walk) -> Loaded | None:
    """A walk that ended in errors, once more with fewer of the sizes that nobody asked for."""
    if not isinstance(walk.captured, Captured) or walk.captured.loaded is None:
        return None
    less = after_refusal(walk.captured.loaded, walk.findings)
    if less is None:
        return None
    walk.findings = [finding for finding in walk.findings if not finding.blocks]
    walk.learn(less)
    if walk.saved is not None:
        discard(walk.saved)
    walk.lowered = walk.saved = walk.verified = walk.divergence = None
    return without(walk.captured.loaded, less)


def _with_constants(walk: Walk) -> Loaded | None:
    """A walk that failed with numbers as inputs, once more with them as they are in the example."""
    captured = walk.captured
    loaded = captured.loaded if isinstance(captured, Captured) else None
    if loaded is None or not loaded.numbers or not walk.blocked:
        return None
    read = {id: rule.reads for id, rule in rules().items()}
    if any(f.blocks and read[f.rule] not in _OF_A_GRAPH[1:] for f in walk.findings):
        return None  # it would fail all the same
    # What was read off that graph and its proof will be read again.
    walk.findings = [f for f in walk.findings if f.repaired or read[f.rule] not in _OF_A_GRAPH]
    if walk.saved is not None:
        discard(walk.saved)
    walk.lowered = walk.saved = walk.verified = walk.divergence = None
    return _without_numbers(walk, loaded)


def _without_numbers(walk: Walk, loaded: Loaded) -> Loaded:
    """The repair that made inputs of numbers taken back."""
    cure = "take-number-as-input"
    walk.findings = [finding for finding in walk.findings if finding.repair != cure]
    walk.repairs = [said for said in walk.repairs if not said.startswith(cure)]
    leaves = tuple(
        replace(leaf, value=loaded.numbers[leaf.name]) if leaf.name in loaded.numbers else leaf
        for leaf in loaded.leaves
    )
    return replace(  # type: ignore[no-any-return]
        loaded, leaves=leaves, numbers={}, constants=loaded.constants | loaded.numbers.keys()
    )


def _captured(walk: Walk, loaded: Loaded) -> Loaded:
    """Capture, diagnose, repair, and again: a repair is offered at most once per finding."""
    tried: list[tuple[Finding, str]] = []
    while True:
        with walk.clock.stage("capture") as notes:
            walk.captured = capture(loaded)
            notes.append(_how(walk.captured))
        if isinstance(walk.captured, CaptureFailed):
            less = after_capture(loaded, walk.captured)
            if less is not None:
                walk.learn(less)
                loaded = without(loaded, less)
                continue
        if isinstance(walk.captured, CaptureFailed) and loaded.numbers:
            loaded = _without_numbers(walk, loaded)
            continue
        with walk.clock.stage("diagnose"):
            found = [*diagnose(loaded), *diagnose(walk.captured)]
            found += behind(walk.captured, walk.plan)
            found = list(condoned(found, _randomness(walk)))
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


def _lowered(walk: Walk, captured: Captured, loaded: Loaded) -> Loaded | None:
    with walk.clock.stage("lower"):
        lowered = lower(
            captured,
            opset=walk.plan.opset,
            ir_version=walk.plan.ir_version,
            input_names=walk.request.input_names,
            output_names=walk.request.output_names,
            plugins=walk.plugins.lowerings,
            domains=walk.request.custom_domains,
        )
    if lowered.unsupported and captured.plain is not None:  # the example's side alone may do
        walk.captured = captured.plain
        return _lowered(walk, captured.plain, loaded)
    stuck = stuck_functions(lowered, loaded)
    if stuck:
        return replace(loaded, whole=loaded.whole | stuck)  # type: ignore[no-any-return]
    walk.learn(lowered)
    if walk.request.precision and not walk.blocked:
        with walk.clock.stage("precision"):
            walk.learn(converted(lowered, loaded, walk.target, walk.request.precision))
    with walk.clock.stage("optimise"):
        kernels = installed(walk.target.name, bool(walk.request.runtime_version))
        walk.lowered = optimise(lowered, kernels)
    walk.learn(foreign(walk.lowered, walk.request))
    walk.learn(valueless(captured, walk.request))
    if not walk.blocked:
        with walk.clock.stage("check"):
            walk.learn(Checked(tuple(check(walk.lowered))))
    walk.graph = drawn(walk.lowered.model)
    if not walk.blocked:
        forget_inner_shapes(walk.lowered)
    return None


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
        beyond += walk.lowered.witnesses
        walk.verified = prove(
            loaded,
            walk.saved.path,
            walk.target,
            sizes=beyond,
            randomness=_randomness(walk),
            captured=walk.captured if isinstance(walk.captured, Captured) else None,
            computed_in=walk.request.precision,
        )
        notes.append(f"{len({row.case for row in walk.verified.rows})} cases")


def _randomness(walk: Walk) -> Randomness | None:
    if not isinstance(walk.captured, Captured):
        return None
    return randomness(walk.captured, walk.request.randomness == "allow")


def _explained(walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified) -> Loaded | None:
    """What the proof says, each failure by what explains it best.

    A failure beyond a boundary has a line of its own: the one that asked about the size. If nobody
    asked for that dimension to vary ("auto" offered it), it is fixed instead, and the walk repeated."""
    crossed = list(crossings(lowered, verified))
    if _has_other_sides(walk, loaded, verified):
        return replace(loaded, thorough=True)  # type: ignore[no-any-return]
    offered = [one for one in crossed if not asked_for(loaded, lowered, one.boundary)]
    if offered:
        for finding in diagnose(offered[0]):
            cure = "narrow-offered-dimension"
            walk.findings.append(
                replace(finding, severity=Severity.INFO, repaired=True, repair=cure)
            )
        return narrowed(loaded, lowered, offered[0].boundary)
    pair = tie(loaded, lowered, verified)
    if pair is not None:
        walk.learn(pair)
        return tied(loaded, pair)
    less = after_proof(loaded, lowered, verified)
    if less is not None:
        walk.learn(less)
        return without(loaded, less)
    if not verified.proven and not crossed and _example_refused(verified):
        walk.learn(refusal(loaded))
    for one in {one.boundary.guard: one for one in reversed(crossed)}.values():
        walk.learn(one)
    beyond = {id(one.row) for one in crossed}
    rest = replace(verified, rows=tuple(row for row in verified.rows if id(row) not in beyond))
    if any(row.verdict is Verdict.FAIL for row in rest.rows):
        rest = replace(rest, divergence=_localised(walk, loaded, lowered, verified))
    place = place_named(lowered, verified.runtime_error)
    walk.learn(replace(rest, location=_remembered(walk) if verified.stateful else place))
    if not crossed:
        for bounded in bounds(lowered):
            walk.learn(bounded)
    return None


def _has_other_sides(walk: Walk, loaded: Loaded, verified: Verified) -> bool:
    """Whether a library asked about sizes, and the file is wrong at others than the example's."""
    if not isinstance(walk.captured, Captured) or not walk.captured.left_open or loaded.thorough:
        return False
    example = next((row.sizes for row in verified.rows), {})
    return any(row.verdict is Verdict.FAIL and row.sizes != example for row in verified.rows)


def _remembered(walk: Walk) -> Location | None:
    """Where the model wrote down what it remembers of a call."""
    done = walk.captured.done if isinstance(walk.captured, Captured) else ()
    kept = [one.location for one in done if one.deed in (Deed.ATTRIBUTE, Deed.GLOBAL)]
    return next((place for place in kept if place is not None), None)


def _example_refused(verified: Verified) -> bool:
    """Whether the user's own model raises on their example, which a graph need not notice."""
    rows = [row for row in verified.rows if row.case == "example"]
    return any(row.verdict is Verdict.REFUSED for row in rows)


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
