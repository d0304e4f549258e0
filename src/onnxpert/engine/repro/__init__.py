"""Reproducers: for each blocker that is left, a small script that shows it with torch alone."""

from __future__ import annotations

from onnxpert.engine.repro.write import reproduce

__all__ = ["reproduce"]
