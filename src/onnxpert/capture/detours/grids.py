"""`F.affine_grid(theta, x.shape)`: its check that no size is 0 asks for the least of them.

Python's `min` compares sizes with one another, so that one that is smaller than the rest had to stay so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from onnxpert.capture.detour import Call, detour

_NAMES = ("theta", "size", "align_corners")
_MATRICES = {4: (2, 3), 5: (3, 4)}  # by how many axes there are


@detour(functional.affine_grid)
def affine_grid(call: Call) -> Any:
    """Which of the sizes of a grid is the least is nobody's question."""
    asked = {**dict(zip(_NAMES, call.args, strict=False)), **call.kwargs}
    if not _is_grid(asked.get("theta"), asked.get("size")):
        return NotImplemented
    aligned = bool(asked.get("align_corners"))
    return torch.affine_grid_generator(asked["theta"], list(asked["size"]), aligned)


def _is_grid(theta: Any, size: Any) -> bool:
    """Whether a size may vary, and torch has nothing against the rest."""
    if not isinstance(theta, torch.Tensor) or not isinstance(size, Sequence):
        return False
    fits = theta.dim() == 3 and tuple(theta.shape[1:]) == _MATRICES.get(len(size))
    return fits and theta.is_floating_point() and any(isinstance(n, torch.SymInt) for n in size)
