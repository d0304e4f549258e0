"""How a lowered model fits the target: what is beyond it, and the forms of it that are not."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from onnxpert.core.types import (
    Absent,
    Beyond,
    Finding,
    Fitting,
    Limit,
    Location,
    Lowered,
    Request,
    replace,
)
from onnxpert.diagnose import diagnose
from onnxpert.targets import Target, find

if TYPE_CHECKING:
    import onnx_ir as ir

LOWER_OPSET = "write-in-lower-opset"
ACCEPT_NARROWER = "accept-float32"
CAST = "cast-to-wider-type"
CAST_NARROWER = "cast-to-narrower-type"
_OF_TYPES = (Limit.NARROWER, Limit.DTYPE)


def absence(target: Target) -> Absent | None:
    """None where the target's own runtime is here, or nothing can stand in for it."""
    reason = target.absent() if target.stand_in else ""
    return Absent(target.name, reason, target.install, target.stand_in) if reason else None


def widened(target: Target, findings: Iterable[Finding]) -> list[Finding]:
    """What was found, with what was said of a runtime that is not here said of the widened file."""
    absent = absence(target)
    if absent is None:
        return list(findings)
    said = set(diagnose(absent))
    kept = [finding for finding in findings if finding not in said]
    return [*diagnose(replace(absent, widened=True)), *kept]


def runner(target: Target) -> Target:
    """What the proof runs on: the target, or what stands in for it."""
    return find(target.stand_in) if absence(target) is not None else target


def fitted(lowered: Lowered, target: Target, request: Request) -> Fitting:
    from onnxpert.targets.fit import fit

    def locate(node: ir.Node) -> Location | None:
        name = str(node.outputs[0].name) if node.outputs else ""
        return lowered.locations.get(name) or source_of(node)

    return fit(lowered.model, target, locate, request.runtime_version)


def source_of(node: ir.Node) -> Location | None:
    """The line that a file says a node comes from."""
    notes = node.metadata_props
    file, _, line = notes.get("onnxpert.source", "").rpartition(":")
    if not file or not line.isdecimal():
        return None
    code = notes.get("onnxpert.code", "") or linecache.getline(file, int(line)).strip()
    return Location(file, int(line), notes.get("onnxpert.module", ""), "", code)


def findings(fitting: Fitting, consent: bool) -> Iterator[Finding]:
    """What the rules say of it; with `consent`, a narrower type is taken as it is."""
    for finding in diagnose(fitting):
        accepted = consent and finding.rule == "TGT806"
        yield (replace(finding, repaired=True, repair=ACCEPT_NARROWER) if accepted else finding)


def repaired(fitting: Fitting, repair: str) -> Iterator[Finding]:
    """The findings of places that are gone."""
    for finding in diagnose(fitting):
        yield replace(finding, repaired=True, repair=repair)


def in_other_types(
    lowered: Lowered, fitting: Fitting, target: Target, request: Request
) -> Iterator[tuple[Fitting, str]]:
    """Casts around the nodes that the target has no kernel for; what was beyond it, and the repair.

    The model is changed in place: those that a type cures which holds all values, then, with
    consent, those that a narrower one does."""
    from onnxpert.optimise.casting import cast
    from onnxpert.targets.fit import accepts

    opset = lowered.model.opset_imports.get("", 0)
    ways = {"off": (), "safe": ((CAST, False),)}.get(
        request.repair, ((CAST, False), (CAST_NARROWER, True))
    )
    for repair, narrow in ways:
        lacking = [e for e in fitting.beyond if e.limit is Limit.DTYPE and e.node]
        turned = lacking and cast(
            lowered.model,
            {each.node for each in lacking},
            lambda node, dtype: accepts(node, target, opset, dtype, request.runtime_version),
            narrower=narrow,
        )
        if turned:
            fitting = fitted(lowered, target, request)
            left = {each.node for each in fitting.beyond if each.limit is Limit.DTYPE}
            cured = tuple(each for each in lacking if each.node not in left)
            yield replace(fitting, beyond=cured), repair


def narrower(fitting: Fitting) -> str:
    """The type that what is float64 here is computed in; "" where nothing is."""
    doubles = any("float64" in each.detail for each in fitting.beyond if each.limit in _OF_TYPES)
    return "float32" if doubles else ""


def in_lower_opset(
    lowered: Lowered, target: Target, request: Request, lower: Callable[[int], Lowered]
) -> tuple[Lowered, Fitting | None]:
    """The same model written without operators that the target lacks, where an older opset has none.

    Gives with it what of the first form was beyond the target; None if that was kept."""
    if request.opset_version is not None or request.repair == "off" or lowered.unsupported:
        return lowered, None
    whole = fitted(lowered, target, request)
    lacking = _lacking(whole)
    newest = [since for each in lacking if (since := _since(each.what, lowered.opset)) is not None]
    opset = min(newest, default=0) - 1
    if opset < target.opsets[0]:
        return lowered, None
    older = lower(opset)
    if older.unsupported or len(_lacking(fitted(older, target, request))) >= len(lacking):
        return lowered, None
    return older, replace(whole, beyond=tuple(lacking))


def _lacking(fitting: Fitting) -> list[Beyond]:
    return [each for each in fitting.beyond if each.limit is Limit.OPERATOR]


def _since(op_type: str, opset: int) -> int | None:
    """The opset that an operator came with; None for one that the standard does not have."""
    import onnx.defs

    versions: Iterable[int] = (
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.name == op_type and schema.domain == "" and schema.since_version <= opset
    )
    return min(versions, default=None)
