"""Refusal: how a lowering says that it cannot."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818  (no error: the next source of lowerings is asked)
    """A lowering cannot say this call in ONNX: why, and the lowest opset that could."""

    def __init__(self, reason: str, lowest_opset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lowest_opset = lowest_opset
