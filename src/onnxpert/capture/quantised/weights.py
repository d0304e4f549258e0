"""What torch has packed for its own kernels, read back: integers, scales, and how a window moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

quantized = torch.ops.quantized


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight, which is a quantised tensor (or half precision), and the bias beside it."""

    weight: torch.Tensor
    bias: torch.Tensor | None


@dataclass(frozen=True, slots=True)
class Window:
    """How a convolution goes over its input."""

    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int
    output_padding: list[int]
    transposed: bool


def really(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call on real tensors while fakes are about."""
    with _disable_current_modes(), torch.no_grad():
        return call(*args, **kwargs)


def of_linear(packed: Any) -> Weights:
    return Weights(*really(quantized.linear_unpack, packed))


def of_half_linear(packed: Any) -> Weights:
    return Weights(*really(quantized.linear_unpack_fp16, packed))


def of_convolution(packed: Any, rank: int, transposed: bool) -> tuple[Weights, Window]:
    kind = f"conv_transpose{rank}d" if transposed else f"conv{rank}d"
    weights = Weights(*really(getattr(quantized, f"{kind}_unpack"), packed))
    # In one dimension it is packed for two, the first of which is idle.
    asked = "conv_transpose" if transposed else "conv"
    asked += f"{max(rank, 2)}d"

    def read(what: str) -> list[int]:
        return list(really(getattr(quantized, f"{asked}_{what}"), packed))[-rank:]

    return weights, Window(
        read("stride"),
        read("padding"),
        read("dilation"),
        int(really(getattr(quantized, f"{asked}_groups"), packed)),
        read("output_padding"),
        transposed,
    )


def of_embedding(packed: Any) -> torch.Tensor:
    """The quantised table: a scale and a zero point per row, both of them floats."""
    table: torch.Tensor = really(quantized.embedding_bag_unpack, packed)
    return table
