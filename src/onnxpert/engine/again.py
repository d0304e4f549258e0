"""The same model once more: with fewer sizes that vary, or asked more of, after a turn that failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from onnxpert.capture import off_its_lines
from onnxpert.capture.rolling.blocks import holds_number
from onnxpert.core.types import (
    Asked,
    Captured,
    CaptureFailed,
    Checked,
    Choice,
    Crossed,
    Fitting,
    Loaded,
    Location,
    Lowered,
    Merged,
    Severity,
    Verdict,
    Verified,
    replace,
)
from onnxpert.diagnose import catalogue as rules
from onnxpert.diagnose import diagnose
from onnxpert.engine.free_sizes.merging import broadcast
from onnxpert.engine.free_sizes.offers import (
    asked_for,
    doubted,
    is_apart,
    is_but_one,
    is_own,
    left_open_beyond,
    narrowed,
    refused_apart,
    taken_beyond,
    tie,
    tied,
    to_be_one,
)
from onnxpert.engine.free_sizes.shortening import shortened
from onnxpert.engine.free_sizes.withdrawals import after_proof, after_refusal, of_one_size, without
from onnxpert.engine.walk import Kept, Walk
from onnxpert.lower.nan_keeping import BLIND

_ORDERED = {Choice.ORDER, Choice.ROUNDING}
_OF_A_GRAPH = (Captured, Lowered, Fitting, Checked, Verified, Crossed)


def after_a_proof(
    walk: Walk,
    loaded: Loaded,
    lowered: Lowered,
    verified: Verified,
    crossed: Sequence[Crossed],
    *,
    met: Sequence[Merged] = (),
) -> Loaded | None:
    """The model to try again with, if what the proof showed leads to a better one.

    If nobody asked for a dimension to vary ("auto" offered it), it is fixed or narrowed."""
    if verified.left_to_chance:
        return None
    misread = not loaded.unrolled and _rolled_wrongly(walk.captured, verified, crossed)
    alike = [] if misread else to_be_one(loaded, lowered, verified, crossed)
    if verified.proven and not crossed and walk.proven is None:
        alike = refused_apart(loaded, lowered, verified)
    if alike:
        # What fails at sizes of which these are one has a reason of its own: to ask is the same turn.
        others = [one for one in crossed if not any(is_apart(one.row, pair) for pair in alike)]
        doubts = doubted(walk.captured, loaded, lowered, others)
        if doubts:
            _forget_graph(walk)
        for pair in alike:
            walk.learn(pair)
            loaded = tied(loaded, pair)
        return replace(loaded, doubted=loaded.doubted | doubts)  # type: ignore[no-any-return]
    closer = None
    if not _has_other_ranks(verified):
        closer = _looked_at_closer(walk, loaded, lowered, verified, crossed, misread=misread)
    if closer is not None:
        _forget_graph(walk)
        return closer
    if verified.proven and not crossed and walk.proven is None and not walk.contents_itself:
        kept = walk.kept(loaded)
        apart = broadcast(loaded, met) or shortened(walk, loaded, lowered, verified)
        if apart is not None:
            walk.proven = kept
            _forget_graph(walk)
            return apart
    return _with_fewer_sizes(walk, loaded, lowered, verified, crossed)


def _has_other_ranks(verified: Verified) -> bool:
    """Whether all that fails is an output with another number of axes: no look finds a file for that."""
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    return bool(failed) and all(row.other_rank for row in failed)


def _looked_at_closer(
    walk: Walk,
    loaded: Loaded,
    lowered: Lowered,
    verified: Verified,
    crossed: Sequence[Crossed],
    *,
    misread: bool,
) -> Loaded | None:
    """Captured with more care where the first look was wrong."""
    if misread:
        # From what its lines say, or if nobody can follow those, turn by turn.
        return replace(loaded, as_written=True, unrolled=True)  # type: ignore[no-any-return]
    if not loaded.as_written and any(holds_number(one.boundary.condition) for one in crossed):
        # How often a loop turns is no question, which doubts would lead to: its lines say it.
        lines = _off_its_lines(walk, loaded)
        if lines is not None:
            return lines
        loaded = replace(loaded, as_written=True)
    return _asked_more(walk, loaded, lowered, verified, crossed)


def _asked_more(
    walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified, crossed: Sequence[Crossed]
) -> Loaded | None:
    """With questions about sizes that were answered for the example's; or read line by line."""
    doubts = doubted(walk.captured, loaded, lowered, crossed)
    if doubts:
        return replace(loaded, doubted=loaded.doubted | doubts)  # type: ignore[no-any-return]
    if verified.proven and not crossed and not walk.contents_itself:
        doubts = left_open_beyond(walk.captured, loaded, lowered, verified)
        if doubts:
            walk.proven = walk.kept(loaded)
            return replace(loaded, doubted=loaded.doubted | doubts)  # type: ignore[no-any-return]
    if _has_other_sides(walk, loaded, verified):
        return replace(loaded, thorough=True)  # type: ignore[no-any-return]
    if not loaded.as_written and _flows_otherwise(walk, loaded, lowered, verified, crossed):
        lines = _off_its_lines(walk, loaded)
        if verified.proven and not crossed:
            if lines is None:
                walk.contents_itself = True
            else:
                walk.proven = walk.kept(loaded)
        if lines is not None:
            return lines
    if not loaded.keeps_nan and _passes_over_nan(lowered, verified):
        return replace(loaded, keeps_nan=True)  # type: ignore[no-any-return]
    return _as_it_runs(walk, loaded, verified, crossed)


def _as_it_runs(
    walk: Walk, loaded: Loaded, verified: Verified, crossed: Sequence[Crossed]
) -> Loaded | None:
    """With libraries told of no export, where one that was told computed something else."""
    if not isinstance(walk.captured, Captured) or not walk.captured.announced:
        return None
    chance = verified.nondeterministic or verified.stateful or verified.sway is not None
    if crossed or chance or walk.contents_itself:
        return None
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    if not any(row.max_abs is not None and not row.choices for row in failed):
        return None
    walk.announced = walk.kept(loaded)
    return replace(loaded, unannounced=True)  # type: ignore[no-any-return]


def _off_its_lines(walk: Walk, loaded: Loaded) -> Loaded | None:
    """The model by what its source says, if that can be followed: what was captured otherwise is known."""
    with walk.clock.stage("capture") as notes:
        walk.known = off_its_lines(loaded)
        notes.append("its lines" if walk.known is not None else "its lines cannot be followed")
    return None if walk.known is None else replace(loaded, as_written=True)


def holds_nan(loaded: Loaded) -> bool:
    """Whether the user's own inputs have a NaN in them."""
    import torch

    def spoilt(value: object) -> bool:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return False
        if not value.is_floating_point() or value.is_meta or value.is_nested or value.is_quantized:
            return False
        # Of one byte there is nothing in torch but casts.
        return bool((value.float() if value.itemsize == 1 else value).isnan().any())

    given = (*loaded.examples, tuple(leaf.value for leaf in loaded.leaves))
    return any(spoilt(value) for values in given for value in values)


def _passes_over_nan(lowered: Lowered, verified: Verified) -> bool:
    """Whether a NaN or an infinity is on one side only, and something in the file does not see one."""
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    if not any(row.max_abs is not None and not math.isfinite(row.max_abs) for row in failed):
        return False
    return any(node.op_type in BLIND for node in lowered.model.graph.all_nodes())


def _with_fewer_sizes(
    walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified, crossed: Sequence[Crossed]
) -> Loaded | None:
    for one in crossed:
        asked = asked_for(loaded, lowered, one.boundary)
        if asked and not is_but_one(loaded, lowered, one.boundary):
            continue
        fewer = narrowed(loaded, lowered, one.boundary)
        severity = Severity.WARNING if asked else Severity.INFO
        for finding in diagnose(one):
            cure = "narrow-offered-dimension"
            walk.findings.append(replace(finding, severity=severity, repaired=True, repair=cure))
        return fewer
    pair = tie(loaded, lowered, verified)
    if pair is not None:
        walk.learn(pair)
        return tied(loaded, pair)
    less = after_proof(loaded, lowered, verified)
    if less is not None:
        walk.learn(less)
        return without(loaded, less)
    return None


def _rolled_wrongly(captured: object, verified: Verified, crossed: Sequence[Crossed]) -> bool:
    """Whether a loop that was told by a few lengths is not that, and no assumption says where."""
    explained = {id(one.row) for one in crossed}
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    unexplained = any(id(row) not in explained for row in failed)
    return isinstance(captured, Captured) and bool(captured.inferred) and unexplained


def _flows_otherwise(
    walk: Walk, loaded: Loaded, lowered: Lowered, verified: Verified, crossed: Sequence[Crossed]
) -> bool:
    """Whether it is wrong at a size that was asked for, or its branches or loops are."""
    captured = walk.captured
    if any(asked_for(loaded, lowered, one.boundary) or is_own(one.boundary) for one in crossed):
        return True
    if taken_beyond(loaded, lowered, verified) and not walk.contents_itself:
        return True
    if not isinstance(captured, Captured) or not (captured.branches or captured.inferred):
        return False
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    # Whichever way it flows: a sign may be a branch's doing, an order and last digits are not.
    settled = verified.sway is not None or all(_ORDERED & set(row.choices) for row in failed)
    return not crossed and not settled


def may_have_other_sides(captured: object, loaded: Loaded) -> bool:
    """Whether a library asked about sizes, and only the example's side was looked at."""
    return isinstance(captured, Captured) and captured.left_open and not loaded.thorough


def _has_other_sides(walk: Walk, loaded: Loaded, verified: Verified) -> bool:
    """Whether the file is wrong at other sizes than the example's, on such a side."""
    if not may_have_other_sides(walk.captured, loaded):
        return False
    example = next((row.sizes for row in verified.rows), {})
    return any(row.verdict is Verdict.FAIL and row.sizes != example for row in verified.rows)


def with_less_offered(walk: Walk) -> Loaded | None:
    """A walk that ended in errors, once more with fewer of the sizes that nobody asked for."""
    if not isinstance(walk.captured, Captured) or walk.captured.loaded is None:
        return None
    less = after_refusal(walk.captured.loaded, walk.findings)
    if less is None:
        return None
    walk.findings = [finding for finding in walk.findings if not finding.blocks]
    walk.learn(less)
    walk.forget_file()
    return without(walk.captured.loaded, less)


def with_less_dynamic(walk: Walk, loaded: Loaded) -> Loaded | None:
    """The model without the offered sizes that a range leaves one size."""
    less = of_one_size(loaded, walk.lowered) if walk.lowered is not None else None
    if less is None:
        return None
    _forget_graph(walk)
    walk.learn(less)
    return without(loaded, less)


def as_proven(walk: Walk) -> Loaded | None:
    """A walk that looked for more sizes and failed, or found fewer, once more as it had been proven."""
    kept = walk.proven
    if kept is None or not (walk.blocked or _varying(kept.loaded) - _varying(_seen(walk, kept))):
        return None
    walk.proven, walk.contents_itself = None, True
    walk.known, walk.findings = kept.captured, list(kept.findings)
    _forget_graph(walk)
    return kept.loaded


def as_announced(walk: Walk) -> Loaded | None:
    """A walk in which libraries were told of no export, and nothing followed what they did then, as it
    had failed before."""
    kept = walk.announced
    if kept is None or not isinstance(walk.captured, CaptureFailed):
        return None
    walk.announced, walk.contents_itself = None, True
    walk.known, walk.findings = kept.captured, list(kept.findings)
    _forget_graph(walk)
    return kept.loaded


def _seen(walk: Walk, kept: Kept) -> Loaded:
    captured = walk.captured
    return (captured.loaded if isinstance(captured, Captured) else None) or kept.loaded


def _varying(loaded: Loaded) -> set[tuple[str, int]]:
    return {(leaf.name, axis) for leaf in loaded.leaves for axis, _ in leaf.dims}


def _forget_graph(walk: Walk) -> None:
    """What was read off a graph and its proof will be read again off another."""
    read = {id: rule.reads for id, rule in rules().items()}
    walk.findings = [f for f in walk.findings if f.repaired or read[f.rule] not in _OF_A_GRAPH]
    walk.forget_file()


def with_constants(walk: Walk) -> Loaded | None:
    """A walk that failed with numbers as inputs, once more with them as they are in the example."""
    captured = walk.captured
    if not isinstance(captured, Captured):
        return None
    loaded = captured.loaded
    if loaded is None or not loaded.numbers or not walk.blocked:
        return None
    read = {id: rule.reads for id, rule in rules().items()}
    if any(f.blocks and read[f.rule] not in _OF_A_GRAPH[1:] for f in walk.findings):
        return None  # it would fail all the same
    texts = [one.location for one in captured.reads if one.asked is Asked.TEXT]
    if any(f.blocks and f.location in texts for f in walk.findings):
        return None  # for a text of something else
    _forget_graph(walk)
    return without_numbers(walk, loaded)


def without_numbers(walk: Walk, loaded: Loaded) -> Loaded:
    """The repair that made inputs of numbers taken back."""
    cure = "take-number-as-input"
    read = {id: rule.reads for id, rule in rules().items()}  # what is said of inputs is said again
    walk.findings = [f for f in walk.findings if f.repair != cure and read[f.rule] is not Loaded]
    walk.repairs = [said for said in walk.repairs if not said.startswith(cure)]
    leaves = tuple(
        replace(leaf, value=loaded.numbers[leaf.name]) if leaf.name in loaded.numbers else leaf
        for leaf in loaded.leaves
    )
    return replace(  # type: ignore[no-any-return]
        loaded, leaves=leaves, numbers={}, constants=loaded.constants | loaded.numbers.keys()
    )


def innocent(
    walk: Walk, loaded: Loaded, numbers: Mapping[str, float], at: Location | None
) -> Loaded:
    """The model to speak of where numbers were taken back as inputs in vain: the capture ends `at` the
    place where it ended before. They are none of what is in the way, and inputs once that is gone."""
    failed = walk.captured
    if not numbers or at is None or not isinstance(failed, CaptureFailed) or not failed.attempts:
        return loaded
    stopped = failed.attempts[0][1].location
    if stopped is None or (stopped.file, stopped.line) != (at.file, at.line):
        return loaded
    meant = replace(loaded, constants=loaded.constants - numbers.keys(), numbers=numbers)
    scouted = replace(failed.scouted, loaded=meant) if failed.scouted is not None else None
    walk.captured = replace(failed, loaded=meant, scouted=scouted)
    return meant  # type: ignore[no-any-return]
