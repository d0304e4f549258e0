"""Stage 6: ONNX -> the same ONNX with less in it."""

from __future__ import annotations

from onnxpert.core.types import Lowered
from onnxpert.optimise.passes import (
    axes,
    casts,
    dead_code,
    expansions,
    four_bits,
    identities,
    older_forms,
    ranks,
    wide_kernels,
)
from onnxpert.targets.kernels import Kernels

# In this order. Each is linear in the graph; most of the work is done while lowering.
PASSES = (
    identities.remove,
    casts.shorten,
    axes.cancel,
    expansions.skip,
    dead_code.remove,
    ranks.level,
)


def optimise(
    lowered: Lowered, kernels: Kernels | None = None, own: Kernels | None = None
) -> Lowered:
    """With `kernels`, what they cannot compute in bfloat16 is computed in float32; with those of the
    target itself, `own`, it is given operators that are beyond the standard."""
    if kernels is not None:
        wide_kernels.widen(lowered.model, kernels)
    if own is not None:
        four_bits.fuse(lowered.model, own)
    for one_pass in PASSES:
        one_pass(lowered.model)
    older_forms.write(lowered.model)  # last: the passes know the newer forms
    return lowered


def forget_inner_shapes(lowered: Lowered) -> None:
    """The last step before saving: shapes and types of inner values are for the checker only.

    With them ONNX Runtime fuses Add and LayerNormalization into SkipLayerNormalization, which its
    CPU kernels run slower: Bert's file takes 1.15 times as long. It infers what it needs itself."""
    outputs = {id(value) for value in lowered.model.graph.outputs}
    for node in lowered.model.graph:
        for value in node.outputs:
            if id(value) not in outputs:
                value.shape = value.type = None
