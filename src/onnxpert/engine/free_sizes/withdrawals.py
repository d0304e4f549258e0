"""Dimensions that were offered rather than asked for by name, taken back where the model objects.

Each withdrawal leaves less on offer, so a walk that repeats itself because of one comes to an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from onnxpert.core.types import (
    CaptureFailed,
    DimSpec,
    Finding,
    Loaded,
    Lowered,
    Row,
    Verdict,
    Verified,
    Withdrawn,
    replace,
)

# What may go away with fewer dynamic sizes; a finding on the request or the state does not.
_FAMILIES = ("CAP", "CTL", "NUM", "OPS", "SHP", "TGT")


@dataclass(frozen=True, slots=True)
class Offer:
    """A dimension that varies if it can."""

    input: str
    axis: int
    size: int  # in the example
    lower: int | None

    @property
    def is_small(self) -> bool:
        """Sizes 0 and 1 broadcast, vanish and squeeze: what holds for two need not hold for them."""
        return self.size < 2


def offers(loaded: Loaded) -> tuple[Offer, ...]:
    return tuple(
        Offer(leaf.name, axis, int(leaf.value.shape[axis]), spec.lower)
        for leaf in loaded.leaves
        for axis, spec in leaf.dims
        if not spec.asked
    )


def after_capture(loaded: Loaded, failed: CaptureFailed) -> Withdrawn | None:
    """What a failed capture speaks of; else the smallest sizes; else everything. Nothing where the
    request is wrong anyway: what a misnamed wish may have meant is on offer, and better looked at."""
    if failed.eager is not None or not failed.attempts or loaded.problems:
        return None
    on_offer = offers(loaded)
    failure = failed.attempts[0][1]
    spoken = [offer for offer in on_offer if (offer.input, offer.axis) in failure.sizes]
    small = [offer for offer in spoken or on_offer if offer.is_small]
    return _withdrawn(small or spoken or on_offer, failure.text, failure.location)


def after_proof(loaded: Loaded, lowered: Lowered, verified: Verified) -> Withdrawn | None:
    """Those of a failing case that differ from the example, if any of them is only an offer."""
    example = _example(loaded, lowered)
    failing = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    for row in sorted(failing, key=lambda row: len(_changed(row, example))):
        changed = _changed(row, example)
        at = f"at {row.case}: {row.detail}" if row.detail else f"at {row.case} the results differ"
        if not changed:
            # The trace never saw sizes 0 and 1, which the example has.
            return _withdrawn([o for o in offers(loaded) if o.is_small], at)
        sources = {s.name: set(s.sources) for s in lowered.symbols if s.name in changed}
        moved = [
            (offer, changed[name])
            for name in changed
            for offer in offers(loaded)
            if (offer.input, offer.axis) in sources.get(name, ())
        ]
        ones = [offer for offer, size in moved if size < 2 <= offer.size and offer.lower is None]
        if ones:
            return _withdrawn(ones, at, lower=2)
        if moved:
            return _withdrawn([offer for offer, _ in moved], at)
    return None


def after_refusal(loaded: Loaded, findings: Iterable[Finding]) -> Withdrawn | None:
    """The last resort: what is on offer beside the batch, then the batch too."""
    blocking = [finding for finding in findings if finding.blocks]
    if not blocking or not all(finding.rule.startswith(_FAMILIES) for finding in blocking):
        return None
    on_offer = offers(loaded)
    inner = [offer for offer in on_offer if offer.axis or offer.is_small]
    return _withdrawn(inner or on_offer, blocking[0].message, blocking[0].location)


def of_one_size(loaded: Loaded, lowered: Lowered) -> Withdrawn | None:
    """Those to which a range leaves one size: what cannot vary is no dynamic dimension."""
    for symbol in lowered.symbols:
        if symbol.lower != symbol.upper:
            continue
        gone = [one for one in offers(loaded) if (one.input, one.axis) in symbol.sources]
        if gone and len(gone) == len(symbol.sources):
            reason = f"nothing but {symbol.lower} was left to it"
            return _withdrawn(gone, reason, symbol.bounded_at)
    return None


def without(loaded: Loaded, withdrawn: Withdrawn) -> Loaded:
    """The same model with those dimensions as the example has them, or from their bound on."""
    gone = {(name, axis) for name, axis, _ in withdrawn.dims}
    lower = withdrawn.lower

    def changed(spec: DimSpec) -> DimSpec | None:
        return None if lower is None else replace(spec, lower=lower)

    return respecified(loaded, gone, changed)


def respecified(
    loaded: Loaded, dims: set[tuple[str, int]], change: Callable[[DimSpec], DimSpec | None]
) -> Loaded:
    """The same model with those dimensions wished for otherwise, or (None) no more."""
    leaves = []
    for leaf in loaded.leaves:
        specs = [
            (axis, change(spec) if (leaf.name, axis) in dims else spec) for axis, spec in leaf.dims
        ]
        kept = tuple((axis, spec) for axis, spec in specs if spec is not None)
        leaves.append(replace(leaf, dims=kept))
    return replace(loaded, leaves=tuple(leaves))  # type: ignore[no-any-return]


def _withdrawn(
    gone: Iterable[Offer],
    reason: str,
    location: object = None,
    *,
    lower: int | None = None,
) -> Withdrawn | None:
    dims = tuple((offer.input, offer.axis, offer.size) for offer in gone)
    return Withdrawn(dims, reason, location, lower) if dims else None  # type: ignore[arg-type]


def _example(loaded: Loaded, lowered: Lowered) -> Mapping[str, int]:
    """The user's own sizes; a trace has 2 where they have 0 or 1."""
    values = {leaf.name: leaf.value for leaf in loaded.leaves}
    found = {}
    for symbol in lowered.symbols:
        name, axis = symbol.sources[0]
        found[symbol.name] = int(values[name].shape[axis]) if name in values else symbol.example
    return found


def _changed(row: Row, example: Mapping[str, int]) -> dict[str, int]:
    return {
        name: size for name, size in row.sizes.items() if name in example and example[name] != size
    }
