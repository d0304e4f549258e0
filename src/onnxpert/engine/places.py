"""The source line of a node that a runtime complains about by name."""

from __future__ import annotations

import linecache
import re

from onnxpert.core.types import Location, Lowered

_NAME = re.compile(r"name:? ?'([^']+)'|node '([^']+)'|Name:'([^']+)'")


def place_named(lowered: Lowered, message: str) -> Location | None:
    """The line that the first named node comes from; None if the message names none of ours."""
    names = {name for groups in _NAME.findall(message) for name in groups if name}
    for node in lowered.model.graph:
        if node.name in names:
            file, _, line = node.metadata_props.get("onnxpert.source", "").rpartition(":")
            if file:
                module = node.metadata_props.get("onnxpert.module", "")
                code = linecache.getline(file, int(line)).strip()
                return Location(file, int(line), module, "", code)
    return None
