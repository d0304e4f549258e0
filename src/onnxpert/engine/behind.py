"""What lies behind the first blocker: the scout's graph, read by the same rules as any other."""

from __future__ import annotations

from onnxpert.core.types import Captured, CaptureFailed, Finding, Plan
from onnxpert.diagnose import diagnose
from onnxpert.lower import lower


def behind(captured: Captured | CaptureFailed, plan: Plan) -> tuple[Finding, ...]:
    """The findings of a graph that is lowered to be looked at, and never saved."""
    if not isinstance(captured, CaptureFailed) or captured.scouted is None:
        return ()
    lowered = lower(captured.scouted, opset=plan.opset, ir_version=plan.ir_version)
    return (*diagnose(captured.scouted), *diagnose(lowered))
