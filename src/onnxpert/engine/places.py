"""The source line of what is complained about: a node by its name, an output that is wrong."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable

from onnxpert.core.types import Location, Lowered, Row, Verdict

NAMED = re.compile(r"name:? ?'([^']+)'|node '([^']+)'|Name:'([^']+)'|node name: ([^),\s]+)")


def place_named(lowered: Lowered, message: str) -> Location | None:
    """The line that the first named node comes from; None if the message names none of ours."""
    names = {name for groups in NAMED.findall(message) for name in groups if name}
    for node in lowered.model.graph:
        if node.name in names:
            file, _, line = node.metadata_props.get("onnxpert.source", "").rpartition(":")
            if file:
                module = node.metadata_props.get("onnxpert.module", "")
                code = linecache.getline(file, int(line)).strip()
                return Location(file, int(line), module, "", code)
    return None


def place_of_failure(lowered: Lowered, rows: Iterable[Row]) -> Location | None:
    """The line that the first wrong output comes from, where no inner value tells more."""
    failed = (row.output for row in rows if row.verdict is Verdict.FAIL)
    return next((place for name in failed if (place := lowered.locations.get(name))), None)
