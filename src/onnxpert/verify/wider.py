"""A model in a wider precision: of half precision in float32, what both the model and its file come
near to; of float32 in double, which of its equal values rounding made equal.

torch and a runtime round at other places, and either may be the one that is further off. Where a
file is out of tolerance but nowhere further from the float32 values than the model itself is, the
distance is the model's own rounding and no error of the file's."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from onnxpert.core.types import Loaded
from onnxpert.targets.target import Array
from onnxpert.verify.arrays import to_tensor

logger = logging.getLogger(__name__)
HALVES = frozenset({"float16", "bfloat16"})


@dataclass(frozen=True, slots=True)
class Distances:
    """How far an output of the model and of the file are from the float32 one, at most."""

    model: float
    file: float
    is_nearer: bool


def widened(loaded: Loaded, dtype: torch.dtype = torch.float32) -> Loaded | None:
    """The model in `dtype`; None where it cannot be had (a program, a model that is no module)."""
    if not isinstance(loaded.module, torch.nn.Module):
        return None
    try:
        module = copy.deepcopy(loaded.module).to(dtype)
    except Exception:  # what cannot be copied is left alone
        logger.debug("the model cannot be widened", exc_info=True)
        return None
    return replace(loaded, module=module, casts={})


def widened_leaves(leaves: Sequence[Any], dtype: torch.dtype = torch.float32) -> list[Any]:
    """What is narrower is given in `dtype`."""
    return [
        leaf.to(dtype)
        if isinstance(leaf, torch.Tensor)
        and leaf.is_floating_point()
        and 2 <= leaf.itemsize < dtype.itemsize
        else leaf
        for leaf in leaves
    ]


def distances(want: Any, got: Array, exact: Any) -> Distances | None:
    """None where the three are not floating tensors of one shape, or not all finite."""
    answer = to_tensor(got)
    tensors = (want, answer, exact)
    if not all(isinstance(one, torch.Tensor) and one.is_floating_point() for one in tensors):
        return None
    if not want.shape == answer.shape == exact.shape or not want.numel():
        return None
    model, file = (one.double() - exact.double() for one in (want, answer))
    if not bool(model.isfinite().all() and file.isfinite().all()):
        return None
    furthest, reached = float(model.abs().max()), float(file.abs().max())
    nearer = reached <= furthest and float(file.norm()) <= float(model.norm())
    return Distances(furthest, reached, nearer)
