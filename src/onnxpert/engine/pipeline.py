"""The walk of one model: load, capture, diagnose, repair, lower, optimise, save, verify, quantise, report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from onnxpert.capture import capture, refusal
from onnxpert.core.belongings import of_code
from onnxpert.core.deadline import OutOfTimeError
from onnxpert.core.keepsakes import given_back
from onnxpert.core.types import (
    Asked,
    Captured,
    CaptureFailed,
    Caught,
    Checked,
    Deed,
    Divergence,
    Finding,
    Loaded,
    Location,
    Lowered,
    Request,
    Stop,
    Stopped,
    Verdict,
    Verified,
    replace,
)
from onnxpert.diagnose import diagnose
from onnxpert.engine.again import (
    after_a_proof,
    as_announced,
    as_proven,
    holds_nan,
    innocent,
    with_constants,
    with_less_dynamic,
    with_less_offered,
    without_numbers,
)
from onnxpert.engine.behind import behind
from onnxpert.engine.chance import condoned
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.completed import completed
from onnxpert.engine.fitting import (
    absence,
    findings,
    fitted,
    runner,
    widened,
)
from onnxpert.engine.foreign import foreign, stuck_functions, valueless
from onnxpert.engine.free_sizes.beneath import reach_down
from onnxpert.engine.free_sizes.merging import crossing, merged
from onnxpert.engine.free_sizes.offers import crossings
from onnxpert.engine.free_sizes.relations import limits
from onnxpert.engine.free_sizes.withdrawals import after_capture, without
from onnxpert.engine.installation import misfits
from onnxpert.engine.picture import drawn, read
from onnxpert.engine.places import place_named, place_of_difference
from onnxpert.engine.plan import plan, unwished
from onnxpert.engine.plugins import gathered
from onnxpert.engine.precision import converted
from onnxpert.engine.proof import chance_in, left_open, proof
from onnxpert.engine.quantisation import quantised, scheme_of
from onnxpert.engine.recollected import recollected
from onnxpert.engine.repro import reproduce
from onnxpert.engine.saving import saved
from onnxpert.engine.standing_in import file_to_run, stand_in
from onnxpert.engine.suiting import fit_behind, fit_noted, for_target, optimised
from onnxpert.engine.summary import summarise
from onnxpert.engine.telling import (
    said_of_training,
    say_chance,
    say_further_chance,
    say_once,
    say_what_is_kept,
)
from onnxpert.engine.walk import Walk
from onnxpert.engine.weights import awaited, unfilled, wished, with_values
from onnxpert.load import load
from onnxpert.optimise import forget_inner_shapes
from onnxpert.repair import choose, repair
from onnxpert.report import Action, Report
from onnxpert.save import check, discard, publish
from onnxpert.targets import find
from onnxpert.verify import localise

_CAUGHT = "CTL414"


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


def explored(request: Request, action: Action) -> tuple[Report, Walk]:
    """An export, and what it got to know of the model, with which another file may be proven."""
    assert request.path is not None
    walk = _start(request, None)
    with given_back():
        return _walked(walk, request.path, True, action), walk


def verify(
    request: Request, path: Path, progress: Progress | None = None, known: Walk | None = None
) -> Report:
    """An ONNX file from anywhere against the user's model, with the weights that a fake one lacks.

    With the walk of a model that computes the same, at its sizes and on all sides of its branches."""
    walk = _start(request, progress)
    if known is not None:
        walk.captured, walk.lowered = known.captured, known.lowered
    with walk.clock.stage("load"):
        loaded, filling = with_values(load(request), wished(request, keep=False))
    walk.learn(loaded)
    walk.learn(filling)
    if not walk.blocked:
        with walk.clock.stage("verify"):
            walk.verified = proof(walk, loaded, path)
        walk.learn(walk.verified)
        for kept in recollected(walk, loaded, certain=True) if walk.verified.stateful else ():
            walk.learn(kept)
        walk.graph = read(path) if not walk.verified.runtime_error else None
    return summarise(walk, Action.VERIFY, path)


def _start(request: Request, progress: Progress | None) -> Walk:
    target = find(request.target)
    here = runner(target).with_kernels(request.kernel_library)
    walk = Walk(request, target, Clock(progress), plan(request, target), gathered(request), here)
    walk.learn(absence(target))
    return walk


def _walk(
    request: Request, path: Path, keep: bool, progress: Progress | None, action: Action
) -> Report:
    with given_back():
        return _walked(_start(request, progress), path, keep, action)


def _walked(walk: Walk, path: Path, keep: bool, action: Action) -> Report:
    request = walk.request
    walk.scheme = scheme_of(request, walk.target, walk.plan)
    walk.learn(walk.plan)
    for misfit in misfits():
        walk.learn(misfit)
    walk.learn(request)
    walk.weights = wished(request, keep)
    with walk.clock.stage("load"):
        loaded: Loaded | None
        loaded, filling = with_values(completed(load(request), request), walk.weights)
        loaded = replace(loaded, whole=walk.plugins.whole, keeps_nan=holds_nan(loaded))
    walk.learn(filling)
    variables = of_code(loaded.module)  # which every call of the model may change, a proof's too
    try:
        # Again only with fewer dynamic dimensions, or fewer bodies to follow: it ends.
        while loaded is not None:
            loaded = _turn(walk, loaded, path) or as_proven(walk) or as_announced(walk)
            loaded = loaded or with_less_offered(walk) or with_constants(walk)
        if walk.saved is not None and keep and not walk.blocked:
            walk.saved = publish(walk.saved, path)
            return summarise(walk, action, path)
    except OutOfTimeError as given:
        walk.learn(Stopped(Stop.TIME, str(given), [*walk.clock.seconds][-1], "", None))
    finally:
        for table in variables:
            table.restore()
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
        again = _lowered(walk, walk.captured, loaded) or with_less_dynamic(walk, loaded)
        if again is not None:
            return again
    elif walk.captured is not None:
        fit_behind(walk, walk.captured)
    if walk.lowered is None or walk.blocked:
        if isinstance(walk.captured, Captured):
            walk.learn(refusal(loaded))  # this and what follows is what the proof would have told
        say_further_chance(walk, chance_in(walk, but=said_of_training(walk)))
        say_what_is_kept(walk, recollected(walk, loaded))
        _tell_open_choices(walk, loaded)
        for limit in limits(loaded, walk.lowered) if walk.lowered is not None else ():
            walk.learn(limit)
        return None
    _proven(walk, loaded, path)
    if walk.verified is None:
        _quantised(walk, loaded, path)
        return None
    if walk.verified.proven:
        reach_down(walk, loaded, path)
    narrower = _explained(walk, loaded, walk.lowered, walk.verified)
    if narrower is None:
        _quantised(walk, loaded, path)
    elif walk.saved is not None:
        discard(walk.saved)
        walk.saved = walk.verified = None
    return narrower


def _captured(walk: Walk, loaded: Loaded) -> Loaded:
    """Capture, diagnose, repair, and again: a repair is offered at most once per finding."""
    tried: list[tuple[Finding, str]] = []
    numbers: Mapping[str, float] = {}  # that were inputs while a capture stopped at a place
    stopped: Location | None = None
    while True:
        with walk.clock.stage("capture") as notes:
            walk.captured, walk.known = walk.known or capture(loaded), None
            notes.append(_how(walk.captured))
        if isinstance(walk.captured, CaptureFailed):
            less = after_capture(loaded, walk.captured)
            if less is not None:
                walk.learn(less)
                loaded = without(loaded, less)
                continue
        if isinstance(walk.captured, CaptureFailed) and loaded.numbers:
            numbers, stopped = loaded.numbers, walk.captured.attempts[0][1].location
            loaded = without_numbers(walk, loaded)
            continue
        meant = innocent(walk, loaded, numbers, stopped)
        with walk.clock.stage("diagnose"):
            found = [*diagnose(meant), *diagnose(walk.captured)]
            found += unwished(behind(walk.captured, walk.plan), walk.plan)
            found = list(condoned(found, chance_in(walk)))
            found = awaited(found, walk.captured, walk.weights)
        cure = choose(found, walk.request.repair, tried)
        if cure is None:
            cured = {finding: name for finding, name in tried if finding.rule == "INP113"}
            found = [replace(f, repaired=True, repair=cured[f]) if f in cured else f for f in found]
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
    lowered = for_target(walk, captured)
    if lowered.unsupported and captured.plain is not None:  # the example's side alone may do
        walk.captured = captured.plain
        return _lowered(walk, captured.plain, loaded)
    stuck = stuck_functions(lowered, loaded)
    if stuck:
        return replace(loaded, whole=loaded.whole | stuck)  # type: ignore[no-any-return]
    walk.note(unwished(diagnose(lowered), walk.plan))
    if walk.request.precision and not walk.blocked:
        with walk.clock.stage("precision"):
            walk.learn(converted(lowered, loaded, walk.runner, walk.request.precision))
    walk.lowered = optimised(walk, lowered)
    fit_noted(walk, walk.lowered)
    walk.learn(foreign(walk.lowered, walk.request))
    walk.learn(valueless(captured, walk.request))
    if not walk.blocked:
        with walk.clock.stage("check"):
            problems = tuple(check(walk.lowered))
            walk.learn(Checked(problems, place_named(walk.lowered, " ".join(problems))))
    walk.graph = drawn(walk.lowered.model)
    if not walk.blocked:
        walk.stand_in = stand_in(walk.lowered, walk.target, walk.runner)
        if walk.stand_in is not None:
            walk.findings = widened(walk.target, walk.findings)
        forget_inner_shapes(walk.lowered)
    return None


def _proven(walk: Walk, loaded: Loaded, path: Path) -> None:
    if walk.weights.later:
        walk.learn(unfilled(walk.captured))
    with walk.clock.stage("save"):
        walk.saved = saved(walk, path)
    if not walk.request.verify:
        return
    with walk.clock.stage("verify") as notes:
        with file_to_run(walk.saved, walk.stand_in) as file:
            walk.verified = proof(walk, loaded, file)
        notes.append(f"{len({row.case for row in walk.verified.rows})} cases")


def _quantised(walk: Walk, loaded: Loaded, path: Path) -> None:
    """The float file, proven, gives way to one in whole numbers where that was asked for."""
    if walk.scheme is None or walk.lowered is None or walk.saved is None or walk.blocked:
        return
    if walk.verified is not None and not walk.verified.proven:
        return
    with walk.clock.stage("quantise") as notes:
        walk.quantised, made, saved = quantised(
            walk.request,
            loaded,
            walk.lowered,
            walk.saved,
            target=walk.runner,
            scheme=walk.scheme,
            path=path,
        )
        notes.append(walk.scheme.name)
    walk.learn(walk.quantised)
    if saved is None:
        return
    discard(walk.saved)
    walk.lowered, walk.saved = made, saved
    walk.note(findings(fitted(made, walk.target, walk.request), consent=False))
    walk.graph = drawn(made.model)


def _explained(walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified) -> Loaded | None:
    """What the proof says, each failure by what explains it best; or the model to try again with.

    A failure beyond a boundary has a line of its own: the one that asked about the size."""
    if verified.unseeded and _place_of(walk, Deed.CHANCE) is not None:
        verified = replace(verified, stateful=False, nondeterministic=True)
    met = merged(walk.captured, loaded, lowered)
    crossed = [*crossings(lowered, verified), *filter(None, map(crossing, met))]
    better = after_a_proof(walk, loaded, lowered, verified, crossed, met=met)
    if better is not None:
        return better
    if not verified.proven and not crossed and _example_refused(verified):
        walk.learn(refusal(loaded))
    for one in {one.boundary.guard: one for one in reversed(crossed)}.values():
        walk.learn(one)
    beyond = {id(one.row) for one in crossed}
    rest = replace(verified, rows=tuple(row for row in verified.rows if id(row) not in beyond))
    failed = any(row.verdict is Verdict.FAIL for row in rest.rows)
    if failed and not verified.left_to_chance:
        found = _localised(walk, loaded, lowered, verified)
        if isinstance(found, Caught):
            say_once(walk, _CAUGHT, found.location)
            rest = replace(rest, caught=found)
        else:
            walk.divergence = found
            rest = replace(rest, divergence=found)
    place = place_of_difference(lowered, rest)
    say_what_is_kept(walk, recollected(walk, loaded, certain=verified.stateful))
    if verified.nondeterministic:
        place = _place_of(walk, Deed.CHANCE)
    say_chance(walk, replace(rest, location=place, text=_text(walk)))
    _tell_open_choices(walk, loaded)
    if not crossed:
        for limit in (*met, *limits(loaded, lowered, verified)):
            walk.learn(limit)
    return None


def _tell_open_choices(walk: Walk, loaded: Loaded) -> None:
    if walk.verified is not None and not walk.verified.left_to_chance:
        return  # all values were compared, and what explains them is told
    for choice in left_open(walk, loaded):
        walk.learn(choice)


def _place_of(walk: Walk, *deeds: Deed) -> Location | None:
    """Where the model wrote down what it remembers of a call, or drew what no graph draws."""
    done = walk.captured.done if isinstance(walk.captured, Captured) else ()
    kept = [one.location for deed in deeds for one in done if one.deed is deed]
    return next((place for place in kept if place is not None), None)


def _text(walk: Walk) -> Location | None:
    reads = walk.captured.reads if isinstance(walk.captured, Captured) else ()
    return next((read.location for read in reads if read.asked is Asked.TEXT), None)


def _example_refused(verified: Verified) -> bool:
    """Whether the user's own model raises on their example, which a graph need not notice."""
    rows = [row for row in verified.rows if row.case == "example"]
    return any(row.verdict is Verdict.REFUSED for row in rows)


def _localised(
    walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified
) -> Divergence | Caught | None:
    if not isinstance(walk.captured, Captured) or walk.saved is None:
        return None
    with walk.clock.stage("localise"):
        return localise(
            verified,
            loaded,
            captured=walk.captured,
            lowered=lowered,
            path=walk.saved.path,
            target=walk.runner,
        )
