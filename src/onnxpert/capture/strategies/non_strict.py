"""Second rung: `torch.export`, which runs the model's own Python."""

from __future__ import annotations

from onnxpert.capture.exporting import exported
from onnxpert.capture.strategy import strategy
from onnxpert.core.types import Captured, Loaded


@strategy("torch.export", rung=20)
def non_strict(loaded: Loaded) -> Captured:
    return exported(loaded, "torch.export", strict=False)
