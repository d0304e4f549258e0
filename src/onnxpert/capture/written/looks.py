"""How a tensor looks that crosses the border of a page: its type, and the sizes that are known there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.pages import PageRecorder, same_size, symbols


@dataclass(frozen=True, slots=True)
class Look:
    """A tensor that crosses: None is a size that may be any."""

    dtype: torch.dtype
    sizes: tuple[Any, ...]

    def over(self, value: torch.Tensor, known: set[Any]) -> Look:
        """The same for one more value; sizes that are not known around the page are any."""
        if value.dim() != len(self.sizes):
            raise UnwritableError("a tensor has another number of axes")
        sizes = tuple(
            a if a is not None and same_size(a, b) and symbols(b) <= known else None
            for a, b in zip(self.sizes, value.shape, strict=True)
        )
        dtype = self.dtype
        if dtype is not value.dtype:
            dtype = torch.promote_types(dtype, value.dtype)
        return Look(dtype, sizes)

    def made(self, recorder: PageRecorder) -> torch.Tensor:
        sizes = [recorder.size() if size is None else size for size in self.sizes]
        return recorder.unrecorded(sizes, self.dtype)


def look(value: torch.Tensor, known: set[Any]) -> Look:
    return Look(value.dtype, tuple(value.shape)).over(value, known)
