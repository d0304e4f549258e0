"""What a model or a runtime raised, in one line that says something."""

from __future__ import annotations

import re

# "[ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from x.onnx failed:" is for its developers.
_PREFIX = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : \w+ : "
    r"(Load model from .*? failed:|Exception during initialization: )?"
)
_NODE = re.compile(
    r"^Non-zero status code returned while running (\w+) node\. Name:'(.*?)' Status Message: "
)
_SOURCE = re.compile(r"^/\S+\.(?:cc|h|cpp):\d+ .*?\) (?:.*? was false\. )?")


def one_line(error: BaseException) -> str:
    """`ValueError: what it says`, of which only the first line that says something."""
    text = _first_line(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def runtime_line(error: BaseException) -> str:
    """As `one_line`, without the runtime's names for its errors and the places in its source."""
    text = _PREFIX.sub("", _first_line(error))
    node = _NODE.match(text)
    rest = _SOURCE.sub("", text[node.end() :] if node else text).strip()
    where = f"{node[1]} node {node[2]!r}: " if node else ""
    return (where + rest) or type(error).__name__


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
