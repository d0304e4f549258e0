"""What lies behind the first blocker: the scout's graph, read by the same rules as any other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from onnxpert.core.calls import calls
from onnxpert.core.types import Asked, Captured, CaptureFailed, Finding, Location, Plan
from onnxpert.diagnose import diagnose
from onnxpert.engine.free_sizes.relations import limits
from onnxpert.lower import lower

if TYPE_CHECKING:
    import onnx_ir as ir


def behind(captured: Captured | CaptureFailed, plan: Plan) -> tuple[Finding, ...]:
    """The findings of a graph that is lowered to be looked at, and never saved."""
    if not isinstance(captured, CaptureFailed) or captured.scouted is None:
        return ()
    if is_unseen(captured.scouted):
        return tuple(diagnose(captured.scouted))
    stands_in = (Asked.NUMPY, Asked.NUMBER, Asked.CALL)
    taken = {_at(b.location) for b in captured.blockers if b.asked in stands_in}
    asked = {_at(b.location) for b in captured.blockers}
    followed = [b.location for b in captured.blockers if b.asked is Asked.CALL and b.location]
    lowered = lower(captured.scouted, opset=plan.opset, ir_version=plan.ir_version)
    found = [
        *(
            found
            for found in diagnose(captured.scouted)
            if not _is_of_stand_in(found, taken) and not _is_asked_again(found, asked)
        ),
        *(found for found in diagnose(lowered) if not _is_said(found, followed)),
        *(found for one in limits(captured.loaded, lowered) for found in diagnose(one)),
    ]
    for side in captured.sides:
        lowered = lower(side, opset=plan.opset, ir_version=plan.ir_version)
        for one in (*diagnose(side), *diagnose(lowered)):
            known = {(other.rule, _line(other)) for other in found}
            if (
                _is_of_a_line(one)
                and not _is_said(one, followed)
                and (one.rule, _line(one)) not in known
                and not _is_asked_again(one, asked)
            ):
                found.append(one)
    return tuple(found)


def is_unseen(scouted: Captured) -> bool:
    """Whether there is no graph, only what was seen of the model."""
    return next(calls(scouted.root), None) is None


@contextmanager
def ends_kept(model: ir.Model) -> Iterator[None]:
    """While on, what is made of an input and nothing goes on with is an output, so that it is not taken
    for useless: behind it may have stood what nothing could follow."""
    outputs = model.graph.outputs
    own = len(outputs)
    made = set(model.graph.inputs)
    for node in model.graph:
        if not made.isdisjoint(node.inputs):
            made.update(node.outputs)
    unused = [node for node in model.graph if not any(map(_is_used, node.outputs))]
    outputs.extend(node.outputs[0] for node in unused if node.outputs[0] in made)
    try:
        yield
    finally:
        del outputs[own:]


def _is_used(value: ir.Value) -> bool:
    return bool(value.uses()) or value.is_graph_output()


def _is_of_a_line(finding: Finding) -> bool:
    """Whether it is about what a line does, and not about what comes out of the whole."""
    at = finding.location
    return at is not None and not at.code.startswith(("def ", "class "))


def _is_said(finding: Finding, followed: Collection[Location]) -> bool:
    """That there is no lowering for what nothing could follow goes without saying: of the same part of
    a line, where both say which that is."""
    at = finding.location
    there = [one for one in followed if at is not None and _at(one) == _at(at)]
    return any(
        not (one.column and at.column)
        or (one.column < at.end_column and at.column < one.end_column)
        for one in there
        if at is not None
    )


def _is_of_stand_in(finding: Finding, taken: Collection[object]) -> bool:
    """Whether a size is fixed where values left the graph, or nothing could follow: by what stands in
    for what came back."""
    return finding.rule == "SHP201" and _line(finding) in taken


def _is_asked_again(finding: Finding, asked: Collection[object]) -> bool:
    """Whether a question about a size is told of its line as one about what the data decide."""
    return finding.rule == "SHP214" and _line(finding) in asked


def _line(finding: Finding) -> tuple[str, int] | None:
    return _at(finding.location)


def _at(place: Location | None) -> tuple[str, int] | None:
    return (place.file, place.line) if place is not None else None
