"""Third rung: `torch.export` in its strict mode, which reads the model's bytecode instead of running it."""

from __future__ import annotations

from onnxpert.capture.exporting import exported
from onnxpert.capture.strategy import strategy
from onnxpert.core.types import Captured, Loaded


@strategy("torch.export strict", rung=30, runs=False)
def strict(loaded: Loaded) -> Captured:
    return exported(loaded, "torch.export strict", strict=True)
