"""The source line of what is complained about: a node by its name, an output that is wrong."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from onnxpert.core.types import Location, Lowered, Row, Verdict

if TYPE_CHECKING:
    import onnx_ir as ir

NAMED = re.compile(r"name:? ?'([^']+)'|node '([^']+)'|Name:'([^']+)'|node name: ([^),\s]+)")


def place_named(lowered: Lowered, message: str) -> Location | None:
    """The line that the first named node comes from; None if the message names none of ours."""
    names = {name for groups in NAMED.findall(message) for name in groups if name}
    named = (node for node in lowered.model.graph if node.name in names)
    return next((place for node in named if (place := _source(node))), None)


def place_of_failure(lowered: Lowered, rows: Iterable[Row]) -> Location | None:
    """The line that the first wrong output comes from, where no inner value tells more."""
    makers = {value.name: value.producer() for value in lowered.model.graph.outputs}
    for row in rows:
        if row.verdict is Verdict.FAIL:
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
