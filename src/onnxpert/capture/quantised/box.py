"""The stand-in of a quantised tensor: a fake float of its values, which knows its scale.

A fake tensor cannot have a quantised dtype. `Boxed` says that it has one; what is recorded are the
operators of `quantized_decomposed`, which say in plain integers what the quantised ones mean.
That an object's class may be changed to a subclass of FakeTensor was tried on torch 2.13 and 2.15."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

INTEGERS = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}


class UnreadQuantisedError(NotImplementedError):
    """An operator on quantised tensors that nobody has said in plain numbers yet."""

    def __init__(self, op: str) -> None:
        super().__init__(f"{op} is not known for quantised tensors")
        self.op = op


@dataclass(frozen=True, slots=True)
class Affine:
    """`scale * (integer - zero_point)`."""

    scale: float
    zero_point: int
    dtype: torch.dtype  # torch.quint8, ...

    @property
    def integer(self) -> torch.dtype:
        return INTEGERS[self.dtype]

    @property
    def lowest(self) -> int:
        return int(torch.iinfo(self.integer).min)

    @property
    def highest(self) -> int:
        return int(torch.iinfo(self.integer).max)

    def arguments(self) -> tuple[Any, ...]:
        """As `quantized_decomposed` orders them."""
        return self.scale, self.zero_point, self.lowest, self.highest, self.integer


@dataclass(frozen=True, slots=True)
class Channels:
    """The same per channel: of weights, and of what a model makes so itself."""

    scales: torch.Tensor
    zero_points: torch.Tensor
    axis: int
    dtype: torch.dtype

    def arguments(self) -> tuple[Any, ...]:
        """As `quantized_decomposed` orders them."""
        integer = INTEGERS[self.dtype]
        limits = torch.iinfo(integer)
        return self.scales, self.zero_points, self.axis, limits.min, limits.max, integer


class Boxed(FakeTensor):
    """What the model's own code holds; `plain` is the float tensor that is recorded."""

    plain: torch.Tensor
    affine: Affine | Channels
    integers: torch.Tensor | None

    @property
    def is_quantized(self) -> bool:  # type: ignore[override]
        return True

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return self.affine.dtype

    @property
    def by_channel(self) -> Channels:
        if not isinstance(self.affine, Channels):
            raise UnreadQuantisedError("a scale per channel of a tensor that has one scale")
        return self.affine

    @property
    def whole(self) -> Affine:
        """The scale of the whole tensor; activations have no other."""
        if not isinstance(self.affine, Affine):
            raise UnreadQuantisedError("a scale per channel")
        return self.affine


def boxed(
    plain: torch.Tensor, affine: Affine | Channels, integers: torch.Tensor | None = None
) -> Boxed:
    """A box around a float tensor; another object than that, for the float may be seen as well."""
    box: Any = torch.ops.aten.detach.default(plain)
    box.__class__ = Boxed
    box.plain, box.affine, box.integers = plain, affine, integers
    return box  # type: ignore[no-any-return]
