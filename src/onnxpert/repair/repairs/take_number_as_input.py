"""Python floats among the arguments made inputs of the file."""

from __future__ import annotations

from typing import Any

from onnxpert.core.types import Finding, InputLeaf, Loaded, Safety, replace
from onnxpert.repair.repair import repair


@repair("take-number-as-input", cures=("INP113",), safety=Safety.SAFE)
def take_number_as_input(loaded: Loaded, finding: Finding) -> Loaded:
    """The file takes the number as an input; the proof gives it to your model as the float it is."""
    numbers = {
        leaf.name: leaf.value
        for leaf in loaded.leaves
        if isinstance(leaf.value, float) and leaf.name not in loaded.constants
    }
    leaves = tuple(
        _as_tensor(leaf, loaded) if leaf.name in numbers else leaf for leaf in loaded.leaves
    )
    return replace(loaded, leaves=leaves, numbers={**loaded.numbers, **numbers})  # type: ignore[no-any-return]


def _as_tensor(leaf: InputLeaf, loaded: Loaded) -> InputLeaf:
    import torch

    # As narrow as what it meets: a number of Python's never widens a tensor.
    doubles = any(getattr(value, "dtype", None) is torch.float64 for value in _tensors(loaded))
    dtype = torch.float64 if doubles else torch.float32
    return replace(leaf, value=torch.tensor(leaf.value, dtype=dtype))  # type: ignore[no-any-return]


def _tensors(loaded: Loaded) -> list[Any]:
    parameters = getattr(loaded.module, "parameters", None)
    weights = list(parameters()) if callable(parameters) else []
    return [*weights, *(leaf.value for leaf in loaded.leaves)]
