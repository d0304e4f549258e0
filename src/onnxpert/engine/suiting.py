"""A captured model written so that it suits the target, and what of it does not."""

from __future__ import annotations

from onnxpert.core.types import Captured, CaptureFailed, Lowered
from onnxpert.engine.behind import ends_kept, is_unseen
from onnxpert.engine.fitting import (
    LOWER_OPSET,
    findings,
    fitted,
    in_lower_opset,
    in_other_types,
    narrower,
    repaired,
)
from onnxpert.engine.plan import best
from onnxpert.engine.walk import Walk
from onnxpert.lower import lower
from onnxpert.optimise import optimise


def for_target(walk: Walk, captured: Captured) -> Lowered:
    """In the opset that suits the target best."""

    def at(opset: int) -> Lowered:
        return lower(
            captured,
            opset=opset,
            ir_version=walk.plan.ir_version,
            input_names=walk.request.input_names,
            output_names=walk.request.output_names,
            plugins=walk.plugins.lowerings,
            domains=walk.request.custom_domains,
        )

    with walk.clock.stage("lower"):
        lowered, lacked = in_lower_opset(best(walk.plan, at), walk.target, walk.request, at)
    if lacked is not None:
        walk.note(repaired(lacked, LOWER_OPSET))
    return lowered


def optimised(walk: Walk, lowered: Lowered) -> Lowered:
    with walk.clock.stage("optimise"):
        older = walk.request.runtime_version
        # Of the target, or of what proves the file in its place.
        own = walk.target.capabilities.kernels(older)
        kernels = own or walk.runner.capabilities.kernels(older)
        return optimise(lowered, kernels, own)


def fit_noted(walk: Walk, lowered: Lowered) -> None:
    """What of it is beyond the target, and is not cured by another type."""
    fit = fitted(lowered, walk.target, walk.request)
    for cured, name in in_other_types(lowered, fit, walk.target, walk.request):
        walk.note(repaired(cured, name))
        fit = fitted(lowered, walk.target, walk.request)
        walk.narrower = walk.narrower or narrower(cured)
    walk.note(findings(fit, consent=walk.request.repair == "all"))
    walk.narrower = walk.narrower or narrower(fit)


def fit_behind(walk: Walk, failed: CaptureFailed) -> None:
    """The same of as much as was seen of a model that could not be captured."""
    if failed.scouted is None or is_unseen(failed.scouted):
        return
    lowered = for_target(walk, failed.scouted)
    with ends_kept(lowered.model):
        lowered = optimised(walk, lowered)
    fit_noted(walk, lowered)
