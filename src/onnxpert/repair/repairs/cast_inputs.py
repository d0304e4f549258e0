"""Inputs cast to the dtype of the weights, inside the file."""

from __future__ import annotations

from collections import Counter

from onnxpert.core.types import Finding, Loaded, Safety, replace
from onnxpert.repair.repair import repair


@repair("cast-inputs", cures=("INP110",), safety=Safety.SAFE)
def cast_inputs(loaded: Loaded, finding: Finding) -> Loaded:
    """The file casts the input to the dtype of the weights first; it still takes the dtype you gave."""
    counts = Counter(p.dtype for p in loaded.module.parameters() if p.is_floating_point())
    dtype = counts.most_common(1)[0][0]
    casts = {
        leaf.name: str(dtype).removeprefix("torch.")
        for leaf in loaded.leaves
        if hasattr(leaf.value, "is_floating_point")
        and leaf.value.is_floating_point()
        and leaf.value.dtype != dtype
    }
    return replace(loaded, casts={**loaded.casts, **casts})  # type: ignore[no-any-return]
