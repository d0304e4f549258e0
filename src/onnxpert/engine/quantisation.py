"""A proven float file turned to whole numbers and measured: what was asked, what came out."""

from __future__ import annotations

import logging
from pathlib import Path

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Loaded, Lowered, Plan, Quantised, Request, Saved, replace
from onnxpert.quantise import QuantiserError, find, quantise
from onnxpert.quantise.scheme import Scheme
from onnxpert.save import save
from onnxpert.targets import Target
from onnxpert.targets import find as find_target
from onnxpert.targets.releases import release
from onnxpert.verify import calibration_feeds, measure

logger = logging.getLogger(__name__)

MADE = 7  # inputs drawn from the example where no calibration is given


def scheme_of(request: Request, target: Target, plan: Plan) -> Scheme | None:
    """How to quantise, if at all; UsageError, before any work, for what does not go together."""
    if not request.quantize:
        alone = ("calibration", "quantize_exclude", "quantize_bound")
        for name in alone:
            if getattr(request, name):
                raise UsageError(
                    f"{name}= is given without quantize=", "say how to quantise, or leave it out"
                )
        return None
    scheme = find(request.quantize)
    for problem, help in _misfits(request, target, plan, scheme):
        raise UsageError(f"quantize={scheme.name!r} {problem}", help)
    return scheme


def _misfits(request: Request, target: Target, plan: Plan, scheme: Scheme) -> list[tuple[str, str]]:
    found = []
    if request.quantize_bound is not None and not request.quantize_bound > 0:
        found.append((f"with quantize_bound={request.quantize_bound}", "a share such as 0.05"))
    if request.precision in ("float16", "bfloat16"):
        reason = f"cannot be combined with precision={request.precision!r}: it turns float32"
        found.append((reason, "choose one of them"))
    if request.randomness == "allow":
        reason = "cannot be combined with randomness='allow': of chance no error can be measured"
        found.append((reason, "export the part that computes by itself"))
    if request.kernel_library or request.custom_domains:
        reason = "runs the file on ONNX Runtime alone, which has no kernels of custom domains"
        found.append((reason, "leave out quantize=, or the custom domain"))
    if getattr(request, "weights", None):
        found.append(("needs the weights themselves", "leave weights= out"))
    if not scheme.standard and not target.name.startswith("ort-"):
        reason = f"writes operators that only ONNX Runtime has, and the target is {target.name}"
        found.append((reason, "int8-static is in the ONNX standard"))
    if plan.opset < scheme.lowest_opset:
        reason = f"needs opset {scheme.lowest_opset}, and the file is for {plan.opset}"
        found.append((reason, f"opset_version={scheme.lowest_opset} or higher"))
    if request.runtime_version and release(request.runtime_version).version < scheme.since:
        since = ".".join(map(str, scheme.since))
        reason = f"needs ONNX Runtime {since}, and the file is for {request.runtime_version}"
        found.append((reason, "int8-dynamic and int8-static run there"))
    return found


def _has_no_unsigned_bytes(target: Target) -> bool:
    taken = target.capabilities.operators.get("DequantizeLinear")
    return taken is not None and "uint8" not in taken


def quantised(
    request: Request,
    loaded: Loaded,
    lowered: Lowered,
    saved: Saved,
    *,
    target: Target,
    scheme: Scheme,
    path: Path,
) -> tuple[Quantised, Lowered, Saved | None]:
    """What it cost, and the quantised model with its file where there is one."""
    feeds = calibration_feeds(loaded, saved.path, MADE)
    bound = request.quantize_bound or scheme.bound
    told = Quantised(
        scheme.name,
        bound,
        (),
        bytes_before=saved.bytes,
        calibration=len(feeds) if scheme.calibrated else 0,
        calibration_given=bool(loaded.calibration),
    )
    try:
        made, layers = quantise(
            lowered,
            saved.path,
            scheme,
            feeds=feeds,
            bound=bound,
            exclude=request.quantize_exclude,
            signed=_has_no_unsigned_bytes(find_target(request.target)),
        )
    except QuantiserError as error:
        return replace(told, problem=str(error)), lowered, None
    told = replace(told, layers=layers)
    if made is None:
        return told, lowered, None
    stored = save(made, path, external_data=request.external_data, digest=request.verify)
    told = replace(told, bytes_after=stored.bytes)
    try:
        rows = measure(loaded, saved.path, stored.path, target)
    except UsageError:
        raise
    except Exception as error:  # each runtime has its own kinds, with no base class in common
        logger.info("the runtime refused a quantised file", exc_info=True)
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return replace(told, problem=f"the runtime refuses it: {line}"), made, stored
    return replace(told, rows=rows), made, stored
