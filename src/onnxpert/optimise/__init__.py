"""Stage 6: ONNX -> the same ONNX with less in it."""

from __future__ import annotations

from onnxpert.core.types import Lowered
from onnxpert.optimise.passes import dead_code

# In this order. Each is linear in the graph; most of the work is done while lowering.
PASSES = (dead_code.remove,)


def optimise(lowered: Lowered) -> Lowered:
    for one_pass in PASSES:
        one_pass(lowered.model)
    return lowered
