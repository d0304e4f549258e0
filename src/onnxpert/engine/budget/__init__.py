"""Work within limits of time and memory: in a child process, which may hang, crash or be ended."""

from __future__ import annotations

from onnxpert.engine.budget.limits import Budget, read_bytes
from onnxpert.engine.budget.run import limited, within

__all__ = ["Budget", "limited", "read_bytes", "within"]
