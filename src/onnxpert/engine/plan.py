"""Which opset and IR version a file is written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from onnxpert.core.types import Finding, Lowered, Plan, Request, Severity, replace
from onnxpert.targets import Target
from onnxpert.targets.releases import release

DEFAULT_IR = 10
_LACKING = "OPS502"
# The IR version that came with each opset; node metadata (source lines) came with IR 10.
_IR = {**dict.fromkeys(range(7, 23), DEFAULT_IR), 23: 11, 24: 11, 25: 12, 26: 13}


def _limits(request: Request, target: Target) -> tuple[int, int] | None:
    """Of the installed runtime, and of the release that the file is for."""
    here = target.limits()
    if not request.runtime_version:
        return here
    there = release(request.runtime_version)
    opset, ir_version = here or (there.opset, there.ir_version)
    return min(opset, there.opset), min(ir_version, there.ir_version)


def plan(request: Request, target: Target) -> Plan:
    """What was asked, or what the target likes best within what the installed runtime takes."""
    from onnxpert.load.location import (
        forward_location,
    )  # who is asked of versions may have no torch

    limits = _limits(request, target)
    highest_opset, highest_ir = limits or (target.opsets[-1], max(_IR.values()))
    highest = min(highest_opset, target.opsets[-1])
    opset = request.opset_version or min(target.default_opset, highest)
    # What cannot be had is said; the other reasons are looked for at the nearest that can.
    opset = max(target.opsets[0], min(opset, highest))
    return Plan(
        opset=opset,
        ir_version=min(_IR.get(opset, 10), highest_ir),
        asked=request.opset_version,
        target=target.name,
        lowest=target.opsets[0],
        highest=highest,
        source=forward_location(request.model),
    )


def unwished(found: Iterable[Finding], plan: Plan) -> Iterator[Finding]:
    """What an opset lacks that nobody asked for, the nearest to the one asked for, is only told of."""
    wished = plan.asked in (None, plan.opset)
    for finding in found:
        told = finding.rule == _LACKING and not wished
        yield replace(finding, severity=Severity.INFO) if told else finding


def best(plan: Plan, at: Callable[[int], Lowered]) -> Lowered:
    """`at(opset)` of the plan; of a higher opset where that says it better and nobody chose one."""
    lowered = at(plan.opset)
    better = lowered.better_opset
    if better is None or plan.asked is not None or not plan.opset < better <= plan.highest:
        return lowered
    return at(better)
