"""An ONNX file from anywhere against a target: the standard, the target's tables, and a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import onnx_ir as ir

from onnxpert import __version__
from onnxpert.core.types import Beyond, Finding, Fitting, Limit, Location, Tried, Verified
from onnxpert.diagnose import diagnose
from onnxpert.engine import quotes
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.fitting import absence, runner, source_of
from onnxpert.engine.installation import versions
from onnxpert.engine.picture import drawn, marked, type_of
from onnxpert.engine.places import NAMED
from onnxpert.report import Action, Report
from onnxpert.report.graph import Graph
from onnxpert.targets import Target, find
from onnxpert.targets.fit import fit
from onnxpert.verify.anywhere import attempt, examine
from onnxpert.verify.messages import one_line

if TYPE_CHECKING:
    import onnx


@dataclass
class _Check:
    """What is known so far of one file."""

    path: Path
    target: Target
    clock: Clock
    findings: list[Finding] = field(default_factory=list)
    model: ir.Model | None = None
    graph: Graph | None = None

    @property
    def blocked(self) -> bool:
        return any(finding.blocks for finding in self.findings)

    def learn(self, evidence: object) -> None:
        self.findings += [each for each in diagnose(evidence) if each not in self.findings]


def check(path: Path, name: str, *, run: bool, progress: Progress | None) -> Report:
    """The report of it; nothing about a file raises."""
    target = find(name)
    checked = _Check(path, target, Clock(progress))
    with checked.clock.stage("check"):
        proto, invalid = examine(path)
    if proto is not None:
        with checked.clock.stage("fit"):
            try:
                _fit(checked, proto)
            except ir.serde.SerdeError as error:  # a graph that cannot be one
                invalid = invalid or (one_line(error.__cause__ or error),)
    here = runner(target)
    ran = False
    if run and checked.model is not None and not checked.blocked:
        absent = absence(target)
        lacking = _lacking(checked.model, here) if absent is not None else ""
        if not lacking:
            with checked.clock.stage("run") as notes:
                notes.append(here.name)
                ran, lacking = _run(checked, here)
        if absent is not None:
            checked.learn(replace(absent, runs_only=True, lacking=lacking))
    checked.learn(Tried(name, invalid, ran=ran and name != "onnx"))
    return _report(checked, ran, "" if here.name == name else here.name)


def _fit(checked: _Check, proto: onnx.ModelProto) -> None:
    target = checked.target
    checked.learn(Fitting(target.name, _known(target), tuple(_versions(proto, target))))
    checked.model = ir.from_proto(proto)
    fitting = fit(checked.model, target, source_of)
    checked.learn(fitting)
    checked.graph = drawn(checked.model)


def _lacking(model: ir.Model, here: Target) -> str:
    """What the target that stands in has no kernels for, which says nothing of the target itself."""
    blocking = [each for each in diagnose(fit(model, here, source_of)) if each.blocks]
    return blocking[0].message if blocking else ""


def _known(target: Target) -> str:
    return "what the installed runtime takes" if target.limits() else target.capabilities.source


def _versions(proto: onnx.ModelProto, target: Target) -> list[Beyond]:
    """The opset and the IR version, where they are newer than what the target takes."""
    limits = target.limits()
    highest = min(limits[0], target.opsets[-1]) if limits else target.opsets[-1]
    found = []
    opset = next((each.version for each in proto.opset_import if each.domain in ("", "ai.onnx")), 0)
    if opset > highest:
        cure = f"export again with opset_version={highest}, or onnx.version_converter"
        found.append(Beyond(Limit.VERSION, f"opset {opset}", str(highest), cure))
    if limits and proto.ir_version > limits[1]:
        cure = f"export again, or set ir_version to {limits[1]} if nothing newer is used"
        found.append(Beyond(Limit.VERSION, f"IR version {proto.ir_version}", str(limits[1]), cure))
    return found


def _run(checked: _Check, here: Target) -> tuple[bool, str]:
    """Whether it ran; what stood in the way is among the findings, or told where it says nothing of
    the target: another runtime stands in, and refuses the file for reasons of its own."""
    refused, failed = attempt(checked.path, here)
    place = _place(checked.model, refused or failed)
    if refused and here is not checked.target and not _is_same_runtime(checked.target, here):
        return False, f"{here.name} refuses it: {refused}"
    if refused:
        stands_in = "" if here is checked.target else here.name
        checked.learn(Verified((), runtime_error=refused, location=place, refused_by=stands_in))
    checked.learn(Tried(here.name, failed=failed, location=place))
    return not refused and not failed, ""


def _is_same_runtime(target: Target, here: Target) -> bool:
    """Whether what one refuses to load the other does too: they share kernels, and so the loader."""
    own = target.capabilities
    kernels = here.capabilities.kernels("")
    return kernels is not None and kernels in (own.kernels(""), own.fallback(""))


def _place(model: ir.Model | None, message: str) -> Location | None:
    """The line of the first node that a message names."""
    names = {name for groups in NAMED.findall(message) for name in groups if name}
    nodes = model.graph.all_nodes() if model is not None else ()
    return next((source_of(node) for node in nodes if node.name in names), None)


def _report(checked: _Check, ran: bool, stand_in: str) -> Report:
    model = checked.model
    return Report(
        ok=not checked.blocked,
        path=checked.path,
        findings=tuple(checked.findings),
        timings=dict(checked.clock.seconds),
        action=Action.CHECK,
        model=checked.path.name,
        target=checked.target.name,
        runtime=stand_in,
        opset=model.opset_imports.get("") if model else None,
        ir_version=model.ir_version if model else None,
        nodes=sum(1 for _ in model.graph.all_nodes()) if model else None,
        bytes=checked.path.stat().st_size,
        inputs=_ends(model, "inputs"),
        outputs=_ends(model, "outputs"),
        versions=versions(),
        verify=ran,
        version=__version__,
        rules=quotes.notes(checked.findings),
        checked=quotes.checked(),
        excerpts=quotes.excerpts(checked.findings, None),
        graph=marked(checked.graph, checked.findings, None) if checked.graph else None,
    )


def _ends(model: ir.Model | None, side: str) -> tuple[str, ...]:
    values = getattr(model.graph, side) if model is not None else ()
    weights = model.graph.initializers if model is not None else {}
    return tuple(f"{value.name}: {type_of(value)}" for value in values if value.name not in weights)
