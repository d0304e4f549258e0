"""The source line of what is complained about: a node by its name, an output that is wrong."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from onnxpert.core.types import Location, Lowered, Row, Verdict, Verified

if TYPE_CHECKING:
    import onnx_ir as ir

NAMED = re.compile(r"name:? ?'([^']+)'|node '([^']+)'|Name:'([^']+)'|node name: ([^),\s]+)")


def place_named(lowered: Lowered, message: str) -> Location | None:
    """The line that the first named node comes from; None if the message names none of ours."""
    names = {name for groups in NAMED.findall(message) for name in groups if name}
    named = (node for node in lowered.model.graph if node.name in names)
    return next((place for node in named if (place := _source(node))), None)


def place_of_difference(lowered: Lowered, verified: Verified) -> Location | None:
    """The line of a choice, if all that differs follows from it; else of what the runtime complains
    about, or of the first wrong output."""
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    chosen = verified.location if all(row.choices for row in failed) else None
    named = chosen or place_named(lowered, verified.runtime_error)
    return named or _place_of_output(lowered, failed) or verified.location


def _place_of_output(lowered: Lowered, rows: Iterable[Row]) -> Location | None:
    """The line that the first of them comes from that comes from any."""
    makers = {value.name: value.producer() for value in lowered.model.graph.outputs}
    for row in rows:
        node = makers.get(row.output)
        place = lowered.locations.get(row.output) or (_source(node) if node else None)
        if place is not None:
            return place
    return None


def _source(node: ir.Node) -> Location | None:
    """The line that is written down with a node."""
    file, _, line = node.metadata_props.get("onnxpert.source", "").rpartition(":")
    if not file:
        return None
    module = node.metadata_props.get("onnxpert.module", "")
    return Location(file, int(line), module, "", linecache.getline(file, int(line)).strip())
