"""Which opset and IR version a file is written in."""

from __future__ import annotations

from onnxpert.core.types import Plan, Request
from onnxpert.targets import Target

# The IR version that came with each opset; node metadata (source lines) came with IR 10.
_IR = {**dict.fromkeys(range(7, 23), 10), 23: 11, 24: 11, 25: 12, 26: 13}


def plan(request: Request, target: Target) -> Plan:
    """What was asked, or what the target likes best within what the installed runtime takes."""
    limits = target.limits()
    highest_opset, highest_ir = limits or (target.opsets[-1], max(_IR.values()))
    highest = min(highest_opset, target.opsets[-1])
    opset = request.opset_version or min(target.default_opset, highest)
    return Plan(
        opset=opset,
        ir_version=min(_IR.get(opset, 10), highest_ir),
        asked=request.opset_version,
        target=target.name,
        lowest=target.opsets[0],
        highest=highest,
    )
