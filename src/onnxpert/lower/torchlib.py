"""onnxscript's torchlib as the second source of lowerings, through our emitter."""

from __future__ import annotations

from typing import Any


def call(op: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return NotImplemented
