"""A finished walk told as a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert import __version__
from onnxpert.core.types import Captured, Finding, Location, Lowered, replace
from onnxpert.engine import quotes
from onnxpert.engine.installation import versions
from onnxpert.engine.picture import marked, type_of
from onnxpert.report import Action, Report

if TYPE_CHECKING:
    from onnxpert.engine.walk import Walk


def summarise(walk: Walk, action: Action, path: Path | None) -> Report:
    proven = walk.verified is not None and walk.verified.proven
    finished = walk.verified is not None if action is Action.VERIFY else walk.saved is not None
    asked = walk.request.verify or action is Action.VERIFY
    lowered, saved = walk.lowered, walk.saved
    findings = tuple(_placed(finding, walk.plan.source) for finding in walk.findings)
    return Report(
        ok=finished and not walk.blocked and (proven or not asked),
        path=path,
        findings=findings,
        verified=walk.verified.rows if walk.verified else (),
        timings=dict(walk.clock.seconds),
        action=action,
        model=_model_name(walk.request.model),
        target=walk.target.name,
        runtime="" if walk.runner.name == walk.target.name else walk.runner.name,
        opset=lowered.opset if lowered else None,
        ir_version=lowered.model.ir_version if lowered else None,
        strategy=walk.captured.strategy if isinstance(walk.captured, Captured) else "",
        nodes=sum(1 for _ in lowered.model.graph.all_nodes()) if lowered else None,
        bytes=saved.bytes if saved else None,
        sha256=saved.sha256 if saved else "",
        inputs=_signature(lowered, "inputs"),
        outputs=_signature(lowered, "outputs"),
        versions=versions(),
        verify=asked,
        divergence=walk.divergence,
        quantised=walk.quantised,
        repairs=tuple(walk.repairs),
        symbols=lowered.symbols if lowered else (),
        version=__version__,
        rules=quotes.notes(findings),
        checked=quotes.checked(),
        excerpts=quotes.excerpts(findings, walk.divergence),
        graph=marked(walk.graph, findings, walk.divergence) if walk.graph else None,
    )


_OF_THE_MACHINE = "VER611"


def _placed(finding: Finding, source: Location | None) -> Finding:
    """What is said of the model as a whole is said where its forward begins."""
    if finding.location is not None or finding.rule == _OF_THE_MACHINE:
        return finding
    return replace(finding, location=source)  # type: ignore[no-any-return]


def _model_name(model: Any) -> str:
    return getattr(model, "__name__", type(model).__name__)


def _signature(lowered: Lowered | None, side: str) -> tuple[str, ...]:
    if lowered is None:
        return ()
    values = getattr(lowered.model.graph, side)
    return tuple(f"{value.name}: {type_of(value)}" for value in values)
