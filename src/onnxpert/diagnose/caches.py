"""What is said of a cache that forward fills: what is in it comes of sizes, weights or settings."""

from __future__ import annotations

from onnxpert.core.types import Captured

_MADE = "it is made of sizes, weights or settings"


def advice(captured: Captured) -> str:
    """Where sizes vary, only a proof shows whether another one finds what was made for the first."""
    loaded = captured.loaded
    if loaded is not None and any(leaf.dims for leaf in loaded.leaves):
        return f"nothing to do if the proof passes: {_MADE}, which other sizes have to make anew"
    return f"nothing to do: {_MADE}, and the file has what it was made for"
